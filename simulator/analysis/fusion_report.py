"""The effect of fusion, kernel by kernel: the bytes and time of groups of ops, and ops left
unfused."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from simulator.errors import InputError
from simulator.fusion.fused import Fused
from simulator.fusion.graphs import graphs
from simulator.fusion.kinds import kind, why_not
from simulator.prediction import Prediction
from simulator.schedule.memory import carried_bytes
from simulator.simulate.step import simulate
from simulator.timing.profile import learned


@dataclass(frozen=True)
class Merged:
    """All groups of the same ops: eager ops before fusion, kernels after it. An op that several
    groups compute in part is divided equally among them. `modules` are the paths of the modules in
    which the groups begin."""

    ops: tuple[str, ...]
    kind: str
    modules: tuple[str, ...]
    count: int
    launches_before: float
    launches: int
    bytes_before: float
    bytes: float
    before_s: float
    after_s: float

    @property
    def bytes_saved(self) -> float:
        return self.bytes_before - self.bytes

    @property
    def launches_removed(self) -> float:
        return self.launches_before - self.launches


@dataclass(frozen=True)
class Unfused:
    """Ops of one name that are not part of a generated kernel, and why."""

    op: str
    count: int
    launches: int
    seconds: float
    reason: str


@dataclass(frozen=True)
class Recomputed:
    """Values that the backward pass recomputes instead of storing: the eager ops by name with their
    counts, their FLOPs, and the bytes stored for the backward pass in eager and in compiled
    mode."""

    ops: tuple[tuple[str, int], ...]
    flops: float
    eager_bytes: int
    bytes: int


@dataclass(frozen=True)
class Explanation:
    """`merged` is sorted by time saved, the largest first, `left` by time; `again` is None if
    nothing is recomputed, as in inference."""

    merged: tuple[Merged, ...]
    unfused: tuple[Unfused, ...]
    recomputed: Recomputed | None
    eager: Prediction


def explain(p: Prediction) -> Explanation:
    """The effect of fusion in a compiled prediction. Raises InputError for a prediction of another
    mode."""
    fusion = p.fusion
    if fusion is None:
        raise InputError(
            f"fusion of a step in mode {p.mode!r} cannot be explained: nothing is fused there; "
            "predict mode='compiled'"
        )
    eager = simulate(fusion.origin, p.gpu, p.host, learned(p.gpu.id), "eager")
    return Explanation(
        _merged(p, eager, fusion), _unfused(p, fusion), _recomputed(eager, fusion), eager
    )


def _per_op(p: Prediction) -> np.ndarray:
    """Launches, bytes and seconds of each op [3, ops]."""
    moved = np.array([work.bytes for work in p.works], float)[p.columns.work_of]
    count = len(p.trace.ops)
    return np.stack(
        [
            np.bincount(p.columns.op_of, weight, count)
            for weight in (np.ones(moved.size), moved, p.columns.duration_s)
        ]
    )


def _merged(p: Prediction, eager: Prediction, fusion: Fused) -> tuple[Merged, ...]:
    before, after = _per_op(eager), _per_op(p)
    members = [
        tuple(dict.fromkeys(op for node in group.nodes for op in node.ops))
        for group in fusion.groups
    ]
    generated = [not group.library for group in fusion.groups]
    shared = np.zeros(len(fusion.origin.ops))
    for number, ops in enumerate(members):
        if not generated[number]:  # a loop that only prepares operands replaces no op
            before[:, [op for op in ops if kind(fusion.origin.ops[op].signature) == "library"]] = 0
    for number, ops in enumerate(members):
        if generated[number]:
            shared[list(ops)] += 1
    numbers_by_ops: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for number, ops in enumerate(members):
        if generated[number]:
            names = tuple(dict.fromkeys(_short(fusion.origin.ops[op].name) for op in ops))
            numbers_by_ops.setdefault((names, fusion.trace.ops[number].name), []).append(number)
    rows: list[Merged] = []
    for (names, name), numbers in numbers_by_ops.items():
        ops = [op for number in numbers for op in members[number]]
        was = (before[:, ops] / shared[ops]).sum(axis=1)
        now = after[:, numbers].sum(axis=1)
        rows.append(
            Merged(
                names,
                name.split(".")[1],
                tuple(dict.fromkeys(fusion.trace.ops[number].module for number in numbers)),
                len(numbers),
                float(was[0]),
                int(now[0]),
                float(was[1]),
                float(now[1]),
                float(was[2]),
                float(now[2]),
            )
        )
    return tuple(sorted(rows, key=lambda each: each.after_s - each.before_s))


def _recomputed(eager: Prediction, fusion: Fused) -> Recomputed | None:
    ops = fusion.origin.ops
    repeated = {
        each
        for op, group in zip(fusion.trace.ops, fusion.groups, strict=False)
        if op.phase == "backward"
        for node in group.nodes
        for each in node.ops
        if ops[each].phase == "forward"
    }
    if not repeated:
        return None
    work_flops = np.array([work.flops for work in eager.works], float)[eager.columns.work_of]
    flops = np.bincount(eager.columns.op_of, work_flops, len(ops))[sorted(repeated)].sum()
    names = Counter(_short(ops[each].name) for each in sorted(repeated))
    return Recomputed(
        tuple(names.most_common()),
        float(flops),
        carried_bytes(fusion.origin),
        carried_bytes(fusion.trace),
    )


def _unfused(p: Prediction, fusion: Fused) -> tuple[Unfused, ...]:
    after, parts = _per_op(p), graphs(fusion.trace)
    rows: dict[tuple[str, str], list[int]] = {}
    for number, op in enumerate(fusion.trace.ops):
        if after[0, number] and not op.name.startswith("fused."):
            outside = op.phase != "optimizer" and parts.eager(number)
            why = "it runs where the graph breaks" if outside else why_alone(fusion, number)
            rows.setdefault((_short(op.name), why), []).append(number)
    unfused = [
        Unfused(name, len(at), int(after[0, at].sum()), float(after[2, at].sum()), reason)
        for (name, reason), at in rows.items()
    ]
    return tuple(sorted(unfused, key=lambda each: -each.seconds))


_ADDED = {
    "aten.sum.dim_IntList": "torch adds up the partial sums of a generated kernel's blocks",
    "aten.clone.default": "a gradient is copied into the layout that its weight or cuDNN requires",
}
_BEGINNING = ("aten.ones_like.default", "aten.zeros.default")


def why_alone(fusion: Fused, number: int) -> str:
    """Why a launch of a compiled step is not a generated kernel: its op cannot be one, or fusion
    leaves it unchanged, or the compiled step adds it."""
    op = fusion.trace.ops[number]
    if op.phase == "backward" and op.name in _BEGINNING:
        return "autograd creates the gradient with which the backward pass begins"
    if number < len(fusion.groups) and op.phase != "optimizer":
        own = any(fusion.computed.ops[i].name == op.name for i in fusion.members(number))
        if not own and op.name in _ADDED:
            return _ADDED[op.name]
        if own and kind(op.signature) in ("pointwise", "reduction"):
            return "the chosen fusion leaves this op unchanged"
    return why_not(op.signature)


def _short(name: str) -> str:
    return name.split(".")[1]
