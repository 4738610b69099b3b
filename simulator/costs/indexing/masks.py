"""Ops that read or write elements whose mask is true."""

from __future__ import annotations

from simulator.costs.indexing.gathers import nonzero_of
from simulator.costs.kernels.launches import (
    clone,
    full_bytes,
    index_range,
    indexed_access,
    pointwise,
    row_scan,
)
from simulator.costs.movement.copies import move
from simulator.costs.movement.fills import fill_of
from simulator.costs.registry import Work, cost, describe
from simulator.records import Signature

describe("aten._nested_tensor_from_mask_left_aligned.default", waits=True, data_dependent=True)


@cost("aten._unsafe_masked_index.default")
def masked_index(op: Signature) -> tuple[Work, ...]:
    """Clamp each index, gather, and fill the masked elements in place."""
    n, size, mask = op.out.numel, full_bytes(op.out), op["mask"]
    clamps = tuple(
        pointwise(i.numel, full_bytes(i), full_bytes(i), flops=2) for i in op.tensors("indices")
    )
    gather = indexed_access(
        "gather",
        n,
        1,
        size + sum(map(full_bytes, op.tensors("indices"))),
        size,
        variant="index",
        table_bytes=op["self"].nbytes,
        runs=n,
    )
    return (*clamps, gather, pointwise(n, full_bytes(mask), size, inputs=2)) if n else ()


@cost("aten._unsafe_masked_index_put_accumulate.default")
def masked_put(op: Signature) -> tuple[Work, ...]:
    """Fill the masked values, clamp each index, and accumulate."""
    target, values = op["self"], op["values"]
    n, size = values.numel, full_bytes(values)
    clamps = tuple(
        pointwise(i.numel, full_bytes(i), full_bytes(i), flops=2) for i in op.tensors("indices")
    )
    read = size + sum(map(full_bytes, op.tensors("indices"))) + min(size, target.nbytes)
    write = indexed_access(
        "scatter",
        n,
        1,
        read,
        min(size, target.nbytes),
        flops=1,
        variant="sorted",
        table_bytes=target.nbytes,
    )
    filled = (*move(values, values), pointwise(n, full_bytes(op["mask"]), size, inputs=2))
    return (*filled, *clamps, *move(target, target), index_range(n), write) if n else ()


@cost("aten.masked_scatter.default", "aten.masked_scatter_.default")
def masked_scatter(op: Signature) -> tuple[Work, ...]:
    """Each masked position takes the next source element: scan of the mask, check, scatter."""
    target, mask = op["self"], op["mask"]
    n, half = target.numel, target.numel * target.itemsize // 2
    first = () if op.name == "aten.masked_scatter_.default" else (clone(target),)
    check = pointwise(1, mask.itemsize + 8, 0)
    write = indexed_access("scatter", n, 1, mask.nbytes + 8 * n + half, half)
    return *first, *row_scan(n, mask.nbytes, 8 * n), check, write


@cost("aten.masked_scatter_backward.default")
def masked_scatter_backward(op: Signature) -> tuple[Work, ...]:
    """The gradient at the masked positions, and zeros for unused elements of the source."""
    grad, mask, out = op["grad_output"], op["mask"], op.out
    selected = max(1, grad.numel // 2)
    size = selected * grad.itemsize
    gather = indexed_access(
        "gather",
        selected,
        1,
        8 * selected + size,
        size,
        variant="index",
        runs=selected,
        table_bytes=grad.nbytes,
    )
    copy_back = Work(
        "copy",
        0,
        size,
        size,
        instructions=30 * selected,
        dims={"elements": selected, "transposed": False},
    )
    return *nonzero_of(mask), gather, *fill_of(out), copy_back
