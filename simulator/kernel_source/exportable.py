"""The distinct fused groups of a compiled step, and which of them can be exported."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as replaced

from simulator.analysis.fusion_report import why_alone
from simulator.errors import InputError
from simulator.fusion import Fused
from simulator.kernel_source.group import fused_group
from simulator.kernel_source.kernel import kernel
from simulator.prediction import Prediction
from simulator.records import Op, Trace
from simulator.simulate.step import simulate
from simulator.timing.profile import learned

_NAMED = 5  # groups that an error names


@dataclass(frozen=True)
class Candidate:
    """Identical groups: their `number` in the list, the index `group` of the first, their `count`,
    and the sum of their seconds. `reason` is why they cannot be exported; None if they can.
    `guessed` names the ops that read one of several parts of a tensor that the trace does not
    distinguish."""

    number: int
    name: str
    group: int
    count: int
    seconds: float
    reason: str | None
    guessed: tuple[str, ...] = ()


def compiled(p: Prediction) -> Fused:
    """The groups of a compiled prediction. Raises InputError if the mode is not a compiled one."""
    if p.fusion is None:
        raise InputError(
            f"nothing is fused in mode {p.mode!r}: expected a compiled step; use --mode compiled"
        )
    return p.fusion


def candidates(p: Prediction) -> list[Candidate]:
    """The distinct groups, the longest time first, numbered from 1."""
    fused = compiled(p)
    took = np.bincount(p.columns.op_of, p.columns.duration_s, len(p.trace.ops))
    by_key: dict[tuple[object, ...], list[int]] = {}
    for number in range(len(fused.groups)):
        if not np.any(p.columns.op_of == number):
            continue
        by_key.setdefault(_key(fused, number), []).append(number)
    rows = [
        Candidate(
            0,
            _name(fused, numbers[0]),
            numbers[0],
            len(numbers),
            float(took[numbers].sum()),
            *_assess(fused, numbers[0]),
        )
        for numbers in by_key.values()
    ]
    rows.sort(key=lambda each: -each.seconds)
    return [replace(each, number=at) for at, each in enumerate(rows, 1)]


def find(candidates: list[Candidate], wanted: str) -> Candidate:
    """A candidate by its number or name. Raises InputError if it is missing or not exportable."""
    able = [each for each in candidates if each.reason is None]
    for each in able + candidates:
        if wanted in (str(each.number), each.name):
            if each.reason is not None:
                raise InputError(
                    f"{each.name} (group {each.number}) cannot be exported: {each.reason}; "
                    f"{_choose(able)}"
                )
            return each
    raise InputError(
        f"no group {wanted!r}: {_choose(able)}; the command without --group lists them"
    )


def _choose(able: list[Candidate]) -> str:
    """The end of an error message, which suggests the exportable groups, longest first."""
    if not able:
        return "no group of this step can be exported"
    shown = ", ".join(f"{each.number} ({each.name})" for each in able[:_NAMED])
    return f"choose {shown}" + (f" or one of {len(able) - _NAMED} more" if able[_NAMED:] else "")


def reason(fused: Fused, number: int) -> str | None:
    """The reason why a group cannot be exported; None if it can."""
    return _assess(fused, number)[0]


def _assess(fused: Fused, number: int) -> tuple[str | None, tuple[str, ...]]:
    """The reason why a group cannot be exported, if any, and the ops whose operands are guessed."""
    if fused.groups[number].library:
        return why_alone(fused, number), ()
    try:
        group = fused_group(fused, number)
        kernel(group)
    except InputError as error:
        return str(error), ()
    return None, group.guessed


def _name(fused: Fused, number: int) -> str:
    ops = [fused.computed.ops[i].name.split(".")[1].strip("_") for i in fused.members(number)]
    if fused.groups[number].library:
        ops = ops[-1:] or [fused.trace.ops[number].name.split(".")[1].strip("_")]
    return "+".join(dict.fromkeys(ops))


def _key(fused: Fused, number: int) -> tuple[object, ...]:
    op = fused.trace.ops[number]
    signatures = tuple(id(fused.computed.ops[i].signature) for i in fused.members(number))
    return _name(fused, number), id(op.signature), signatures


def alone_s(p: Prediction, trace: Trace, ops: list[int]) -> float:
    """Seconds of the kernels of some ops if none of their operands is in L2 at the start."""
    chosen = [trace.ops[i] for i in ops]
    written = {s for op in chosen for s in op.storages[len(op.inputs) :]}
    read_first = _read_first(chosen)
    storages = [
        replaced(s, born=0 if i in written and i not in read_first else -1, freed=None)
        for i, s in enumerate(trace.storages)
    ]
    part = replaced(trace, ops=chosen, storages=storages, assumptions=[])
    return simulate(part, p.gpu, p.host, learned(p.gpu.id), "eager").gpu_busy_s


def _read_first(ops: list[Op]) -> set[int]:
    written: set[int] = set()
    reads: set[int] = set()
    for op in ops:
        reads |= set(op.storages[: len(op.inputs)]) - written
        written |= set(op.storages[len(op.inputs) :])
    return reads
