"""Reductions over segments of a dimension, and hashes of a whole tensor."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.launches import full_bytes, reduction
from simulator.costs.registry import Work, cost
from simulator.records import Signature


@cost("aten.segment_reduce.default", "aten._segment_reduce_backward.default")
def segments(op: Signature) -> tuple[Work, ...]:
    """A thread for each result goes through its segment, one element after another."""
    x, out = op["data"], op.out
    rows = x.shape[int(op.arg("axis", 0))] if x.shape else 1
    many = max(1, (op.get("output") or out).numel * rows // max(x.numel, 1))
    work = reduction(max(out.numel, 1), rows // many + 1, op.read_bytes, full_bytes(out))
    return (replace(work, dims={**work.dims, "steps": rows // many + 1}),)


@cost("aten.hash_tensor.default")
def hashed(op: Signature) -> tuple[Work, ...]:
    """One pass that folds all elements."""
    x, rows = op["self"], max(op.out.numel, 1)
    return (reduction(rows, x.numel // rows, x.nbytes, full_bytes(op.out)),)
