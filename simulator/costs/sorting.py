"""Sorts, selections, running sums, searches and histograms."""

from __future__ import annotations

from simulator.costs.launches import (
    clone,
    copy,
    fill,
    memcpy,
    memset,
    moved,
    numbers,
    onto,
    pointwise,
    scan,
    step,
)
from simulator.costs.radix import BLOCK_SORTS, block_sort, radix_sort, segmented_sort
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

_SMALL_SORT = BLOCK_SORTS[-1]
"""Elements of a row up to which a block sorts it alone (Sort.cpp, should_use_small_sort)."""
_SHARE = 4096
"""About the elements of a row that a block takes of a topk that is shared out."""
_MANY_BLOCKS = ((20, 20000), (40, 10000), (80, 8000), (199, 5000), (799, 3000), (4000, 800))
"""Up to so many rows, from so many columns on, topk shares a row out over blocks (TensorTopK.cu,
should_use_multiblock); 400 columns for more rows still."""


def rows_along(x: Tensor, dim: int) -> tuple[int, int]:
    """How many rows there are along a dimension, and their length."""
    cols = x.shape[dim] if x.shape else 1
    return x.numel // max(cols, 1), cols


@cost("aten.sort.default", "aten.sort.stable", "aten.argsort.stable")
def sort(op: Signature) -> tuple[Work, ...]:
    """Values and int64 places, after a copy of the input.

    Short rows: numbers, spread over the rows, another copy, and a block a row. Long ones: one
    radix sort a row where a row fills the GPU, two of all elements (by value, by row) for under
    128 rows, and else CUB's segmented sort (Sort.cu).
    """
    x = op["self"]
    n, key = x.numel, x.itemsize
    if n == 0:
        return ()
    rows, cols = rows_along(x, op.arg("dim", -1))
    if cols <= _SMALL_SORT:
        row = Tensor((rows, cols), "int64", (0, 1))
        places = Tensor((rows, cols), "int64", (cols, 1))
        spread = onto(row, places) if rows > 1 else memcpy(8 * n, 8 * n)
        again = memcpy(n * key, n * key)
        return clone(x), numbers(cols), spread, again, block_sort(rows, cols, key)
    number = step(n, 0, 8 * n, inputs=0)
    if rows == 1 or cols >= 1_000_000:
        return clone(x), number, *radix_sort(cols, key, 8) * rows
    if rows < 128:
        bits = (rows - 1).bit_length()
        by_value, by_row = radix_sort(n, key, 8), radix_sort(n, 4, 8, bits)
        part = moved("sort", n, 1, n * (key + 8), n * (key + 8), variant="parted")
        return clone(x), number, *by_value, *by_row, part
    return clone(x), number, *segmented_sort(rows, cols, key, 8)


@cost("aten.topk.default")
def topk(op: Signature) -> tuple[Work, ...]:
    """Radix selection of the k-th value, 2 bits a pass over the row, then a sort of the k found.

    Long rows are shared out over blocks: for each 8 bits a histogram, its sum and what each block
    has; then counts, two scans, and the gathering (TensorTopK.cu, `mbtopk`).
    """
    x, found = op["self"], op.out
    if x.numel == 0 or found.numel == 0:
        return ()
    rows, cols = rows_along(x, op.arg("dim", -1))
    k = found.numel // rows
    pair = x.itemsize + 8
    picked = found.numel * pair
    dims = {"rows": rows, "cols": cols, "key_bytes": x.itemsize}
    passes = 4 * x.itemsize
    gather = Work(
        "topk", 0, x.nbytes, picked, instructions=4 * x.numel * passes, dims={**dims, "k": k}
    )
    select: tuple[Work, ...] = (gather,)
    least = next((least for most, least in _MANY_BLOCKS if rows <= most), 400)
    if cols >= least:
        blocks = rows * -(-cols // _SHARE)

        def stage(name: str, read: int, write: int, slots: int) -> Work:
            return Work("topk", 0, read, write, instructions=slots, dims={**dims, "variant": name})

        digits = (
            stage("counts", x.nbytes, 512 * blocks, 6 * x.numel),
            stage("sums", 512 * blocks, 1024 * rows, 256 * blocks),
            stage("within", 512 * blocks, 4 * blocks, 256 * blocks),
        )
        by_key = (fill(blocks, 8), stage("scan", 8 * blocks, 4 * blocks, 6 * blocks))
        select = (
            step(rows, 0, 4 * rows, inputs=0),
            memset(4 * rows),
            memset(4 * rows),
            *digits * x.itemsize,
            step(blocks, 8 * blocks, 8 * blocks),
            *by_key,
            *by_key,
            stage("gather", x.nbytes, picked, 6 * x.numel),
        )
    if not op.arg("sorted", True) or k == 1:
        return select
    if k <= _SMALL_SORT:
        return *select, block_sort(rows, k, x.itemsize)
    moves = moved("gather", found.numel, 1, picked, picked)
    return *select, *radix_sort(k, x.itemsize, 8) * rows, moves, moves


@cost("aten.kthvalue.default", "aten.median.dim", "aten.nanmedian.dim", "aten.mode.default")
def kthvalue(op: Signature) -> tuple[Work, ...]:
    """Radix selection, a block a row (Sorting.cu)."""
    x = op["self"]
    rows, cols = rows_along(x, op.arg("dim", -1))
    dims = {"rows": rows, "cols": cols, "k": 1, "key_bytes": x.itemsize}
    return (
        Work(
            "topk", 0, x.nbytes, op.write_bytes, instructions=16 * x.numel * x.itemsize, dims=dims
        ),
    )


@cost("aten.median.default", "aten.nanmedian.default")
def median(op: Signature) -> tuple[Work, ...]:
    """Of all elements: a radix sort of them, then a pick (Sorting.cpp, median_impl)."""
    x = op["self"]
    return *radix_sort(x.numel, x.itemsize, 8), moved("gather", 1, 1, x.itemsize, x.itemsize)


@cost(
    "aten.cumsum.default",
    "aten.cumsum_.default",
    "aten.cumprod.default",
    "aten.cumprod_.default",
    "aten.logcumsumexp.default",
    "aten._logcumsumexp.default",
)
def cumsum(op: Signature) -> tuple[Work, ...]:
    """A cast where the result has another dtype, a copy where memory has gaps, and the scan."""
    x, out = op["self"], op.out
    if x.numel == 0:
        return ()
    before: tuple[Work, ...] = ()
    if x.dtype != out.dtype:
        before = (pointwise(x.numel, x.nbytes, out.nbytes, flops=0),)
    elif not x.contiguous:
        before = (copy(x, out.nbytes),)
    return *before, *scan(out if before else x, out, op.arg("dim", 0))


@cost("aten.cummax.default", "aten.cummin.default")
@cost("aten._cummax_helper.default", "aten._cummin_helper.default")
def cummax(op: Signature) -> Work:
    """Values and their places, one kernel (ScanKernels.cpp)."""
    x = op["self"]
    rows, cols = rows_along(x, op.arg("dim", 0))
    write = x.numel * (x.itemsize + 8)
    return Work(
        "scan",
        x.numel,
        x.nbytes,
        write,
        instructions=8 * x.numel,
        dims={"rows": rows, "cols": cols, "inner": 1},
    )
