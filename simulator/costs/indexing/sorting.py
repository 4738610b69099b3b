"""Sorts, selections and running sums."""

from __future__ import annotations

from math import ceil, log, log2

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import (
    clone,
    copy,
    copy_onto,
    fill,
    fill_like,
    helper_kernel,
    index_range,
    indexed_access,
    memcpy,
    memset,
    pointwise,
    scan,
)
from simulator.costs.kernels.radix import BLOCK_SORTS, block_sort, radix_sort, segmented_sort
from simulator.costs.movement.fills import PHILOX
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

_SMALL_SORT = BLOCK_SORTS[-1]
"""Longest row that one block sorts (Sort.cpp, should_use_small_sort)."""
_SHARE = 4096
"""Approximate number of elements per block of a topk whose rows are split over blocks."""
_MANY_BLOCKS = ((20, 20000), (40, 10000), (80, 8000), (199, 5000), (799, 3000), (4000, 800))
"""(Largest number of rows, smallest number of columns) for which topk splits a row over blocks
(TensorTopK.cu, should_use_multiblock). With more rows, it splits rows of at least 400 columns."""


def rows_along(x: Tensor, dim: int) -> tuple[int, int]:
    """Number and length of the rows along a dimension."""
    cols = x.shape[dim] if x.shape else 1
    return x.numel // max(cols, 1), cols


@cost("aten.sort.default", "aten.sort.stable", "aten.argsort.stable")
def sort(op: Signature) -> tuple[Work, ...]:
    """Values and int64 indices along a dimension."""
    return sort_rows(op["self"], op.arg("dim", -1))


def sort_rows(x: Tensor, dim: int) -> tuple[Work, ...]:
    """The sort of a tensor along a dimension, after a copy of it: values and int64 indices.

    Short rows: an index range, its broadcast to the rows, another copy, and one block per row.
    Long rows: one radix sort per row if a row fills the GPU, two of all elements (by value, by row)
    below 128 rows, otherwise CUB's segmented sort (Sort.cu).
    """
    n, key = x.numel, x.itemsize
    if n == 0:
        return ()
    rows, cols = rows_along(x, dim)
    if cols <= _SMALL_SORT:
        row = Tensor((rows, cols), "int64", (0, 1))
        places = Tensor((rows, cols), "int64", (cols, 1))
        spread = copy_onto(row, places) if rows > 1 else memcpy(8 * n, 8 * n)
        second_copy = memcpy(n * key, n * key)
        return clone(x), index_range(cols), spread, second_copy, block_sort(rows, cols, key)
    number = helper_kernel(n, 0, 8 * n, inputs=0)
    if rows == 1 or cols >= 1_000_000:
        return clone(x), number, *radix_sort(cols, key, 8) * rows
    if rows < 128:
        bits = (rows - 1).bit_length()
        by_value, by_row = radix_sort(n, key, 8), radix_sort(n, 4, 8, bits)
        part = indexed_access("sort", n, 1, n * (key + 8), n * (key + 8), variant="parted")
        return clone(x), number, *by_value, *by_row, part
    return clone(x), number, *segmented_sort(rows, cols, key, 8)


@cost("aten.randperm.default", "aten.randperm.generator")
def randperm(op: Signature) -> tuple[Work, ...]:
    """Random keys for the numbers 0 to n - 1, and a sort by them. The keys have so many bits that
    all differ with a probability of 0.9; equal ones are shuffled after the sort
    (ATen/native/cuda/Randperm.cu)."""
    n = op.out.numel
    if n == 0:
        return ()
    bits = min(64, ceil(log2(n - (6 * n**2 + 1) / (12 * log(0.9)))))
    key = 4 if bits <= 32 else 8
    dims = {"elements": n, "slots": 15, "vector": 1}
    keys = Work("random", n, 0, key * n, instructions=(PHILOX // 4 + 15) * n, dims=dims)
    count, shuffle = fill_like(Tensor((), "int64", ())), pointwise(n, n * key, 0, dtype="int64")
    return count, index_range(n), keys, *radix_sort(n, key, 8, bits), shuffle


@cost("aten.topk.default")
def topk(op: Signature) -> tuple[Work, ...]:
    """Radix selection of the k-th value, 2 bits per pass over the row, then a sort of the k values.

    Long rows are split over blocks: per 8 bits a histogram, its sum and the count within each
    block; then counts, two scans, and the gather (TensorTopK.cu, `mbtopk`).
    """
    x, values = op["self"], op.out
    if x.numel == 0 or values.numel == 0:
        return ()
    rows, cols = rows_along(x, op.arg("dim", -1))
    k = values.numel // rows
    pair = x.itemsize + 8
    picked = values.numel * pair
    dims = {"rows": rows, "cols": cols, "key_bytes": x.itemsize}
    passes = 4 * x.itemsize
    gather = Work(
        "topk", 0, x.nbytes, picked, instructions=4 * x.numel * passes, dims={**dims, "k": k}
    )
    select: tuple[Work, ...] = (gather,)
    split_from = next((columns for most, columns in _MANY_BLOCKS if rows <= most), 400)
    if cols >= split_from:
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
            helper_kernel(rows, 0, 4 * rows, inputs=0),
            memset(4 * rows),
            memset(4 * rows),
            *digits * x.itemsize,
            helper_kernel(blocks, 8 * blocks, 8 * blocks),
            *by_key,
            *by_key,
            stage("gather", x.nbytes, picked, 6 * x.numel),
        )
    if not op.arg("sorted", True) or k == 1:
        return select
    if k <= _SMALL_SORT:
        return *select, block_sort(rows, k, x.itemsize)
    moves = indexed_access("gather", values.numel, 1, picked, picked)
    return *select, *radix_sort(k, x.itemsize, 8) * rows, moves, moves


_RADIX_BITS, _SELECTING_THREADS = 2, 1024
"""Bits of a pass of a selection in one block, and the largest block (SortingRadixSelect.cuh)."""


@cost("aten.kthvalue.default", "aten.median.dim", "aten.nanmedian.dim", "aten.mode.default")
def kthvalue(op: Signature) -> tuple[Work, ...]:
    """Radix selection, one block per row (Sorting.cu)."""
    x = op["self"]
    rows, cols = rows_along(x, op.arg("dim", -1))
    passes = x.itemsize * 8 // _RADIX_BITS
    dims: dict[str, int | str] = {
        "rows": rows, "cols": cols, "k": 1, "key_bytes": x.itemsize,
        "runs": rows, "steps": passes * -(-cols // _SELECTING_THREADS),
        "variant": "mode" if "mode" in op.name else "one",
    }  # fmt: skip
    return (
        Work(
            "topk", 0, x.nbytes, op.write_bytes, instructions=16 * x.numel * x.itemsize, dims=dims
        ),
    )


@cost("aten.median.default", "aten.nanmedian.default")
def median(op: Signature) -> tuple[Work, ...]:
    """A radix sort of all elements, then a gather of one (Sorting.cpp, median_impl)."""
    x = op["self"]
    return *radix_sort(x.numel, x.itemsize, 8), indexed_access(
        "gather", 1, 1, x.itemsize, x.itemsize
    )


@cost(
    "aten.cumsum.default",
    "aten.cumsum_.default",
    traits=Traits(kind="reduction", autocast="float32_argument"),
)
@cost("aten.cumprod.default", "aten.cumprod_.default", traits=Traits(autocast="float32_argument"))
@cost("aten.logcumsumexp.default", "aten._logcumsumexp.default")
def cumsum(op: Signature) -> tuple[Work, ...]:
    """A cast if the result has another dtype, or a copy if the input's memory has gaps; then the
    scan."""
    x, out = op["self"], op.out
    if x.numel == 0:
        return ()
    before: tuple[Work, ...] = ()
    if x.dtype != out.dtype:
        before = (pointwise(x.numel, x.nbytes, out.nbytes, flops=0),)
    elif not x.contiguous:
        before = (copy(x, out.nbytes),)
    kind = "logs" if "log" in op.name else "sums"
    return *before, *scan(out if before else x, out, op.arg("dim", 0), kind)


@cost("aten.cummax.default", "aten.cummin.default")
@cost("aten._cummax_helper.default", "aten._cummin_helper.default")
def cummax(op: Signature) -> tuple[Work, ...]:
    """One kernel for the values and their indices, with the blocks of a running sum (ScanUtils.cuh,
    `scan_dim_with_indices`)."""
    x = op.inputs[0]
    return scan(x, x, op.arg("dim", 0), "places") if x.numel else ()
