"""Reductions over segments of a dimension, and hashes of a whole tensor."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.kernels.launches import full_bytes, reduction
from simulator.costs.registry import Work, cost
from simulator.records import Signature


@cost("aten.segment_reduce.default", "aten._segment_reduce_backward.default")
def segment_reduce(op: Signature) -> tuple[Work, ...]:
    """One thread per result reads its segment serially."""
    x, out = op["data"], op.out
    rows = x.shape[int(op.arg("axis", 0))] if x.shape else 1
    count = max(1, (op.get("output") or out).numel * rows // max(x.numel, 1))
    work = reduction(max(out.numel, 1), rows // count + 1, op.read_bytes, full_bytes(out))
    return (replace(work, dims={**work.dims, "steps": rows // count + 1}),)


@cost("aten.hash_tensor.default")
def hash_tensor(op: Signature) -> tuple[Work, ...]:
    """One pass over all elements."""
    x, rows = op["self"], max(op.out.numel, 1)
    return (reduction(rows, x.numel // rows, x.nbytes, full_bytes(op.out)),)
