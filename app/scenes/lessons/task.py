"""The progress of a scenario with the task of a lesson."""

from __future__ import annotations

from dataclasses import dataclass

from app.lessons.lesson import Lesson, Task
from app.lessons.words import WORDS
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario

_NAMES = {
    "network": "network", "gpu": "GPU", "host": "host", "mode": "mode", "batch": "batch",
    "seq": "sequence", "dtype": "precision", "training": "step", "optimizer": "optimizer",
    "whatifs": "what-ifs",
}  # fmt: skip
"""The names of the fields that a task can require to stay unchanged."""


@dataclass(frozen=True)
class TaskProgress:
    """`now` is the scenario's figure beside the target. `changed` are the names of fields that the
    scenario changes although the task keeps them."""

    reached: bool
    now: str
    changed: tuple[str, ...]

    @property
    def words(self) -> str:
        """The state of the task: "now 3.34 ms", "reached: 0.628 ms"."""
        if self.changed:
            return f"{self.now}, but the task requires the original {' and '.join(self.changed)}"
        return f"reached: {self.now}" if self.reached else f"now {self.now}"


def target_words(task: Task) -> str:
    """The target: "time of a step at most 1.00 ms", "compute-bound"."""
    parts: list[str] = []
    if task.figure:
        word = WORDS[task.figure]
        name = word.says if word.says[:2].isupper() else word.says[:1].lower() + word.says[1:]
        bounds = (("at least", task.at_least), ("at most", task.at_most))
        limits = [f"{side} {word.text(bound)}" for side, bound in bounds if bound is not None]
        parts.append(f"{name} {' and '.join(limits)}")
    if task.regime:
        parts.append(f"{task.regime}-bound")
    return ", ".join(parts)


def task_progress(lesson: Lesson, scenario: Scenario, p: Prediction) -> TaskProgress | None:
    """The progress of a scenario with the task of a lesson; None if it has no task."""
    task = lesson.task
    if task is None:
        return None
    begin = lesson.side(lesson.opens).scenario
    changed = tuple(
        _NAMES[name] for name in task.keep if getattr(scenario, name) != getattr(begin, name)
    )
    now: list[str] = []
    reached = not task.regime or p.regime == task.regime
    if task.figure:
        word = WORDS[task.figure]
        figure = word.of(p)
        now.append(word.text(figure))
        low = task.at_least if task.at_least is not None else figure
        high = task.at_most if task.at_most is not None else figure
        reached = reached and low <= figure <= high
    if task.regime:
        now.append(f"{p.regime}-bound")
    return TaskProgress(reached and not changed, ", ".join(now), changed)
