"""Read the [task] of a lesson's file: the target for the learner to reach in Explore."""

from __future__ import annotations

from dataclasses import replace

from app.lessons.changes import with_whatifs
from app.lessons.lesson import LessonSide, Task
from app.lessons.lesson_keys import ChangeKeys, TaskKeys
from app.lessons.words import WORDS
from simulator.errors import InputError
from simulator.formats.toml import shown
from simulator.scenario.scenario import Scenario

LONGEST_TASK = 300  # characters
KEEPABLE = (
    "network", "gpu", "host", "mode", "batch", "seq", "dtype", "training", "optimizer", "whatifs",
)  # fmt: skip
"""The fields of a scenario that a task can require to stay unchanged."""


def task_of(keys: TaskKeys, opened: LessonSide) -> Task:
    """The task of a lesson that opens a side. Raises InputError, which names the key."""
    if opened.cluster is not None:
        raise InputError(
            f"task: [{opened.letter}] has a cluster: expected a side on one GPU in `opens`; change "
            "`opens` or remove the task"
        )
    if not keys.do.strip() or len(keys.do) > LONGEST_TASK or {"{", "}"} & {*keys.do}:
        raise InputError(
            f"task.do is {shown(keys.do)}: expected a sentence of at most {LONGEST_TASK} "
            "characters without placeholders; correct it"
        )
    bounds = [bound for bound in (keys.at_least, keys.at_most) if bound is not None]
    if bool(keys.figure) != bool(bounds) or not (keys.figure or keys.regime):
        raise InputError(
            "task has no target: expected regime, or figure with at_least or at_most; add one"
        )
    if keys.figure and keys.figure not in WORDS:
        raise InputError(
            f"task.figure is {shown(keys.figure)}: expected one of {', '.join(WORDS)}; choose one"
        )
    if any(not 0 <= bound < 1e30 for bound in bounds) or bounds != sorted(bounds):
        came = ", ".join(f"{bound:g}" for bound in bounds)
        raise InputError(
            f"task has the bounds {came}: expected figures of 0 or more, in SI units, at_least "
            "below at_most; correct them"
        )
    for name in keys.keep:
        if name not in KEEPABLE:
            raise InputError(
                f"task.keep names {shown(name)}: expected some of {', '.join(KEEPABLE)}; correct it"
            )
    keep = tuple(dict.fromkeys(("network", *keys.keep)))
    solution = _solved(opened.scenario, keys.solution, keep) if keys.solution else None
    return Task(keys.do, keys.figure, keys.at_least, keys.at_most, keys.regime, keep, solution)


def _solved(begin: Scenario, keys: ChangeKeys, keep: tuple[str, ...]) -> Scenario:
    """The opened scenario with the changes of a solution. Raises InputError if one is invalid or
    changes a field that the task keeps."""
    fields = {name: value for name in _FIELDS if (value := getattr(keys, name)) is not None}
    try:
        changed = replace(begin, **fields, sizes={**begin.sizes, **keys.sizes})
        solved = with_whatifs(changed, keys.whatif)
    except InputError as error:
        raise InputError(f"task.solution: {error}") from None
    for name in keep:
        if getattr(solved, name) != getattr(begin, name):
            raise InputError(
                f"task.solution changes {name}, which task.keep lists: expected other changes; "
                "correct either"
            )
    return solved


_FIELDS = tuple(name for name in ChangeKeys.__struct_fields__ if name not in ("sizes", "whatif"))
