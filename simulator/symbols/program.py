"""The parts of a trace that do not depend on sizes; points with one program can share a family."""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter
from typing import NamedTuple

from simulator.records import COUNTED, TAIL, Signature, Tensor, Trace
from simulator.symbols.templates import shape_of


class Program(NamedTuple):
    """Ops, arguments and lifetimes of storages, without sizes other than 1."""

    ops: list[Hashable]
    counts: list[tuple[int, ...]]
    storages: list[Hashable]
    rest: Hashable

    def differs_in_counts_only(self, other: Program) -> bool:
        """Whether only the host's counts differ, as they do for work that a process does once."""
        return self != other and self[:1] + self[2:3] == other[:1] + other[2:3]


def program(trace: Trace) -> Program:
    """The program of a trace: equal for traces that differ only in sizes."""
    signatures, rows = trace.signatures
    kinds = [_kind(signature) for signature in signatures]
    ops: list[Hashable] = [
        (kinds[row], op.module, op.phase, op.storages)
        for row, op in zip(rows, trace.ops, strict=True)
    ]
    return Program(
        ops,
        [*map(attrgetter(*COUNTED), trace.ops)],
        [(s.born, s.freed, s.role, s.device) for s in trace.storages],
        (
            attrgetter(*TAIL)(trace),
            trace.tokens is None,
            trace.parameters,
            trace.weight_bytes,
            tuple((a.op, a.name) for a in trace.assumptions),
        ),
    )


def _kind(signature: Signature) -> Hashable:
    def tensors(operands: tuple[Tensor, ...]) -> Hashable:
        # A size of 1 is part of the program, because it changes the strides around it.
        return tuple((tuple(n == 1 for n in t.shape), t.dtype, t.device) for t in operands)

    return (
        signature.name,
        tensors(signature.inputs),
        tensors(signature.outputs),
        signature.names,
        repr(shape_of(signature.args)),
        signature.aliases,
    )
