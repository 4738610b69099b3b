"""The fields that only ops of a step over several GPUs use; the file of a trace omits them."""

from __future__ import annotations

import msgspec

from simulator.errors import InputError
from simulator.records import Collective, Op, Trace


class RankOp(msgspec.Struct, frozen=True, array_like=True):
    """Fields of `Op`: its stream, the ops of other streams that it waits for, its collective, and
    the wrapped calls that dispatched it."""

    stream: int
    after: tuple[int, ...]
    collective: Collective | None
    wrapped: int


_OF_ONE_GPU = RankOp(0, (), None, 0)


def rank_ops(trace: Trace) -> list[RankOp]:
    """These fields of each op; [] for a trace of one GPU."""
    ops = [RankOp(op.stream, op.after, op.collective, op.wrapped) for op in trace.ops]
    return ops if any(op != _OF_ONE_GPU for op in ops) else []


def with_rank_ops(trace: Trace, ops: list[RankOp]) -> Trace:
    """The trace with these fields. Raises InputError if the numbers of ops differ."""
    if not ops:
        return trace
    if len(ops) != len(trace.ops):
        raise InputError(
            f"a trace of {len(trace.ops)} ops came with the streams of {len(ops)} ops: expected "
            "equal numbers; correct the network, or run it with --no-sandbox"
        )
    both = zip(trace.ops, ops, strict=True)
    return msgspec.structs.replace(trace, ops=[_on_rank(op, each) for op, each in both])


def _on_rank(op: Op, each: RankOp) -> Op:
    return msgspec.structs.replace(
        op,
        stream=each.stream,
        after=each.after,
        collective=each.collective,
        wrapped=each.wrapped,
    )
