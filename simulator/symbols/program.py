"""What of a trace does not depend on its sizes: two points with one program can share a family."""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter
from typing import NamedTuple

from simulator.records import COUNTED, TAIL, Signature, Tensor, Trace
from simulator.symbols.templates import shape_of


class Program(NamedTuple):
    """Ops, arguments and lives of storages, without a size other than 1."""

    ops: list[Hashable]
    counts: list[tuple[int, ...]]
    storages: list[Hashable]
    rest: Hashable

    def differs_in_counts_alone(self, other: Program) -> bool:
        """One program, run by a host that did more the one time: what it does once a process."""
        return self != other and self[:1] + self[2:3] == other[:1] + other[2:3]


def program(trace: Trace) -> Program:
    """The program of a trace."""
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
    def tensors(found: tuple[Tensor, ...]) -> Hashable:
        # A size of 1 counts as structure: strides around it follow a rule of their own.
        return tuple((tuple(n == 1 for n in t.shape), t.dtype, t.device) for t in found)

    return (
        signature.name,
        tensors(signature.inputs),
        tensors(signature.outputs),
        signature.names,
        repr(shape_of(signature.args)),
        signature.aliases,
    )
