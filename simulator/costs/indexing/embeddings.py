"""Embeddings and the gradients of their tables, and embedding bags: sums of looked-up rows."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.indexing.gathers import rows
from simulator.costs.indexing.sorting import sort_rows
from simulator.costs.kernels.launches import (
    copy,
    fill_like,
    helper_kernel,
    index_range,
    indexed_access,
    pointwise,
    reduction,
    row_scan,
)
from simulator.costs.kernels.radix import radix_sort
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

_SMALL_EMBEDDING = 3072
"""Number of indices up to which EmbeddingBackwardKernel.cu does not sort."""
_PARTIAL = 10
"""Gradients of one row that a thread sums (EmbeddingBackwardKernel.cu, NROWS_PER_THREAD)."""
_BAGS = 1024 * 8
"""Bags of 32 columns that are summed at once (EmbeddingBag.cu: 1024 blocks of 8 warps)."""


@cost("aten.embedding.default")
def embedding(op: Signature) -> tuple[Work, ...]:
    """Gather the rows, after a copy of indices that cannot be viewed as one dimension, such as
    expanded indices (ATen/native/Embedding.cpp: `weight.index_select(0, indices.reshape(-1))`)."""
    indices = op["indices"]
    copies = () if _is_flat(indices) else (copy(indices, indices.numel * indices.itemsize),)
    return *copies, rows(op)


@cost("aten.embedding_renorm_.default")
def embedding_renorm(op: Signature) -> tuple[Work, ...]:
    """Sort the indices, select the distinct ones, and compute the norm of each of their rows
    (Embedding.cu, `embedding_renorm_cuda_`). Rows already have a norm up to `max_norm`, and are not
    written: an earlier step has scaled them."""
    table, indices = op["self"], op["indices"]
    n, width = indices.numel, table.shape[1]
    if n == 0:
        return ()
    size, distinct = indices.nbytes, min(n, table.shape[0])
    read = distinct * width * table.itemsize + distinct * indices.itemsize
    norms = reduction(distinct, width, read, 0, flops=2, dtype=table.dtype)
    return *sort_rows(indices, -1), *row_scan(n, size, size), norms


def _is_flat(x: Tensor) -> bool:
    """Whether one stride visits all elements."""
    dims = [(n, step) for n, step in zip(x.shape, x.stride, strict=True) if n != 1]
    return all(outer == n * step for (_, outer), (n, step) in pairwise(dims))


def _dense_gradient(op: Signature, n: int, width: int, *, bags: bool) -> tuple[Work, ...]:
    """Zeros for every row, then the n rows of the gradient added to the looked-up rows.

    With a sort: a contiguous copy of the gradient, an index range, the sort by all 64 bits, and
    zeros. Then the first entry of each row, the number of parts of 10 entries in each row, their
    starts, their total and their positions. The parts are summed in float32 and then scattered
    (EmbeddingBackwardKernel.cu). If each row of a narrow table is looked up often, atomics add the
    parts to their rows in float32, and the result is cast. This was observed for up to 832 columns
    with 55 or more look-ups per row, but not with 4,416 columns or with 39 look-ups.
    """
    out, grad = op.out, op.inputs[0]
    table = out.numel // max(width, 1)
    touched = min(n * width * out.itemsize, out.nbytes)
    size, read = 8 * n, 8 * n + grad.nbytes
    dense = () if grad.contiguous else (copy(grad, grad.numel * grad.itemsize),)
    select = row_scan(n, size, size)
    parts = min(n, -(-n // _PARTIAL) + min(n, table))
    looked_up = min(n, table)
    first_of_row = helper_kernel(looked_up, 8 * looked_up, 8 * looked_up)
    # one thread per row visits its parts; the number of look-ups per row depends on the data
    part_starts = helper_kernel(
        looked_up, 8 * looked_up, 8 * parts, steps=-(-n // max(_PARTIAL * looked_up, 1))
    )
    dims = {"elements": n * width, "width": width, "parts": parts}
    partial_bytes = 4 * parts * width

    def stage(name: str, read: int, write: int) -> Work:
        return Work(
            "embedding_backward",
            n * width,
            read,
            write,
            instructions=7 * n * width,
            dims={**dims, "variant": name},
        )

    before = (
        *dense,
        index_range(n),
        *radix_sort(n, 8, 8),
        fill_like(out),
        *select,
        first_of_row,
        *select,
        helper_kernel(1, 16, 8),
        part_starts,
    )
    if not bags and width <= 1024 and n >= 50 * table:
        if out.itemsize == 4:
            return *before, part_starts, stage("atomic", read + touched, touched)
        wide = replace(out, dtype="float32")
        cast = pointwise(out.numel, wide.nbytes, out.nbytes, flops=0)
        touched = min(4 * n * width, wide.nbytes)
        return *before, part_starts, fill_like(wide), stage("atomic", read + touched, touched), cast
    return *before, stage("partial", read, partial_bytes), stage("summed", partial_bytes, touched)


def _few_rows(op: Signature, n: int, width: int) -> tuple[Work, ...]:
    """Zeros, then one kernel in which every block reads every index; a gradient or indices with
    gaps in memory are copied first."""
    out, grad = op.out, op.inputs[0]
    copies = [copy(x, x.numel * x.itemsize) for x in op.inputs[:2] if not x.contiguous]
    touched = min(n * width * out.itemsize, out.nbytes)
    read = 8 * n + grad.nbytes + touched
    add = indexed_access("embedding_backward", n * width, width, read, touched, flops=1, steps=n)
    return *copies, fill_like(out), add


@cost("aten.embedding_dense_backward.default", traits=Traits(kind="pointwise"))
def embedding_backward(op: Signature) -> tuple[Work, ...]:
    """One kernel adds the rows of up to 3,072 indices; more are sorted first."""
    n, width = op["indices"].numel, op.out.shape[-1]
    if n <= _SMALL_EMBEDDING and not op.arg("scale_grad_by_freq", False):
        return _few_rows(op, n, width)
    return _dense_gradient(op, n, width, bags=False)


@cost("aten._embedding_bag.default", traits=Traits(kind="library"))
@cost("aten._embedding_bag_forward_only.default")
def embedding_bag(op: Signature) -> Work:
    """One kernel reads the rows of each bag once and takes their sum (mode 0), mean or maximum."""
    table, n = op["weight"], op["indices"].numel
    width = table.shape[1]
    weights = op.get("per_sample_weights")
    index_bytes = sum(t.nbytes for t in (op["indices"], op["offsets"], weights) if t is not None)
    rows = min(n * width * table.itemsize, table.nbytes)
    bags = max(op["offsets"].numel, 1)
    rounds = -(-bags * -(-width // 32) // _BAGS)
    return indexed_access(
        "embedding_bag",
        n * width,
        width,
        rows + index_bytes,
        op.write_bytes,
        flops=1,
        table_bytes=table.nbytes,
        steps=n / bags * rounds,
        bags=bags,
    )


@cost("aten._embedding_bag_dense_backward.default", "aten._embedding_bag_backward.default")
def embedding_bag_backward(op: Signature) -> tuple[Work, ...]:
    """A sum or mean always sorts its indices; a maximum adds one row per bag."""
    n, width = op["indices"].numel, op.out.shape[-1]
    if op.arg("mode", 0) == 2:
        return _few_rows(op, op["grad"].shape[0], width)
    return _dense_gradient(op, n, width, bags=True)


@cost("aten._embedding_bag_per_sample_weights_backward.default")
def embedding_bag_weights_backward(op: Signature) -> Work:
    """The product of each looked-up row with its bag's gradient."""
    table, n = op["weight"], op["indices"].numel
    width = table.shape[1]
    rows = min(n * width * table.itemsize, table.nbytes)
    read = rows + op["grad"].nbytes + 16 * n
    return indexed_access("gather", n * width, width, read, op.out.nbytes, flops=2)
