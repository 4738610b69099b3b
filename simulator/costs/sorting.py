"""Sorts, selections, running sums, searches and histograms."""

from __future__ import annotations

from simulator.costs.launches import (
    clone,
    copy,
    fill,
    fill_like,
    memcpy,
    memset,
    moved,
    numbers,
    onto,
    pointwise,
    reduction,
    row_scan,
    scan,
    step,
    tile_states,
    to_host,
    whole_reduction,
)
from simulator.costs.radix import BLOCK_SORTS, block_sort, radix_sort, segmented_sort
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

Works = tuple[Work, ...]
_SMALL_SORT = BLOCK_SORTS[-1]
"""Elements of a row up to which a block sorts it alone (Sort.cpp, should_use_small_sort)."""
_SHARE = 4096
"""About the elements of a row that a block takes of a topk that is shared out."""
_MANY_BLOCKS = ((20, 20000), (40, 10000), (80, 8000), (199, 5000), (799, 3000), (4000, 800))
"""Up to so many rows, from so many columns on, topk shares a row out over blocks (TensorTopK.cu,
should_use_multiblock); 400 columns for more rows still."""


def _rows(x: Tensor, dim: int) -> tuple[int, int]:
    """How many rows there are along a dimension, and their length."""
    cols = x.shape[dim] if x.shape else 1
    return x.numel // max(cols, 1), cols


@cost("aten.sort.default", "aten.sort.stable", "aten.argsort.stable")
def sort(op: Signature) -> Works:
    """Values and int64 places, after a copy of the input.

    Short rows: numbers, spread over the rows, another copy, and a block a row. Long ones: one
    radix sort a row where a row fills the GPU, two of all elements (by value, by row) for under
    128 rows, and else CUB's segmented sort (Sort.cu).
    """
    x = op["self"]
    n, key = x.numel, x.itemsize
    if n == 0:
        return ()
    rows, cols = _rows(x, op.arg("dim", -1))
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
def topk(op: Signature) -> Works:
    """Radix selection of the k-th value, 2 bits a pass over the row, then a sort of the k found.

    Long rows are shared out over blocks: for each 8 bits a histogram, its sum and what each block
    has; then counts, two scans, and the gathering (TensorTopK.cu, `mbtopk`).
    """
    x, found = op["self"], op.out
    if x.numel == 0 or found.numel == 0:
        return ()
    rows, cols = _rows(x, op.arg("dim", -1))
    k = found.numel // rows
    pair = x.itemsize + 8
    picked = found.numel * pair
    dims = {"rows": rows, "cols": cols, "key_bytes": x.itemsize}
    passes = 4 * x.itemsize
    gather = Work(
        "topk", 0, x.nbytes, picked, instructions=4 * x.numel * passes, dims={**dims, "k": k}
    )
    select: Works = (gather,)
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
def kthvalue(op: Signature) -> Works:
    """Radix selection, a block a row (Sorting.cu)."""
    x = op["self"]
    rows, cols = _rows(x, op.arg("dim", -1))
    dims = {"rows": rows, "cols": cols, "k": 1, "key_bytes": x.itemsize}
    return (
        Work(
            "topk", 0, x.nbytes, op.write_bytes, instructions=16 * x.numel * x.itemsize, dims=dims
        ),
    )


@cost("aten.median.default", "aten.nanmedian.default")
def median(op: Signature) -> Works:
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
def cumsum(op: Signature) -> Works:
    """A cast where the result has another dtype, a copy where memory has gaps, and the scan."""
    x, out = op["self"], op.out
    if x.numel == 0:
        return ()
    before: Works = ()
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
    rows, cols = _rows(x, op.arg("dim", 0))
    write = x.numel * (x.itemsize + 8)
    return Work(
        "scan",
        x.numel,
        x.nbytes,
        write,
        instructions=8 * x.numel,
        dims={"rows": rows, "cols": cols, "inner": 1},
    )


@cost(
    "aten.searchsorted.Tensor",
    "aten.searchsorted.Scalar",
    "aten.bucketize.Tensor",
    "aten.bucketize.Scalar",
)
def search(op: Signature) -> Work:
    """Binary search: log2(boundaries) probes for each value; a value reads what it probes."""
    table = op.get("boundaries") or op["sorted_sequence"]
    n, size = op.out.numel, table.itemsize
    probes = max(1, (table.shape[-1] if table.shape else 1).bit_length())
    values = op.get("self")
    read = min(n * probes * size, table.nbytes) + (values.nbytes if values is not None else size)
    return Work(
        "gather",
        0,
        read,
        op.out.nbytes,
        instructions=n * (4 + 6 * probes),
        dims={"elements": n, "width": 1, "probes": probes},
    )


def _histogram(x: Tensor, more: int, out: Tensor) -> Works:
    """Zeros, then one kernel that counts with atomics."""
    count = Work(
        "scatter",
        x.numel,
        x.nbytes + more,
        out.nbytes,
        instructions=8 * x.numel,
        dims={"elements": x.numel, "width": 1},
    )
    return fill_like(out), count


@cost("aten.histc.default")
def histc(op: Signature) -> Works:
    """Where no range is given, the smallest and largest value are fetched first."""
    x = op["self"]
    extremes = whole_reduction(x.numel, x.nbytes, x.itemsize)
    given = op.arg("min", 0) != op.arg("max", 0)
    before = () if given else (*extremes, to_host(x.itemsize), *extremes, to_host(x.itemsize))
    return *before, *_histogram(x, 0, op.out)


@cost("aten.bincount.default")
def bincount(op: Signature) -> Works:
    """The smallest and largest value go to the host before it knows the bins."""
    x, weights = op["self"], op.get("weights")
    extremes = (*whole_reduction(x.numel, x.nbytes, x.itemsize), to_host(x.itemsize)) * 2
    return *extremes, *_histogram(x, weights.nbytes if weights is not None else 0, op.out)


@cost("aten.repeat_interleave.Tensor")
def repeat_interleave(op: Signature) -> Works:
    """A scan of the repeats, their sum to the host unless it was given, and the places."""
    repeats, out = op["repeats"], op.out
    n = repeats.numel
    sums = row_scan(n, repeats.nbytes, 8 * n)
    wait = () if op.arg("output_size") is not None else (to_host(8),)
    return *sums, *wait, moved("scatter", out.numel, 1, repeats.nbytes + 8 * n, out.nbytes)


@cost(
    "aten._unique.default",
    "aten._unique2.default",
    "aten.unique_consecutive.default",
    "aten.unique_dim.default",
    "aten.unique_dim_consecutive.default",
)
def unique(op: Signature) -> Works:
    """A sort (unless only neighbours are compared), a selection, and its length to the host.

    The inverse is a comparison of neighbours, a scan and a scatter; the counts are differences.
    Several columns (`unique_dim`) are compared as one key here, which is less than they take.
    """
    x = op["self"]
    n, size = x.numel, x.itemsize
    if n == 0:
        return ()
    sorts = "consecutive" not in op.name
    inverse, counts = op.arg("return_inverse", False), op.arg("return_counts", False)
    found: list[Work] = []
    if sorts:
        found += [numbers(n)] if inverse else []
        found += radix_sort(n, size, 8 if inverse else 0)
    if inverse:
        found += [pointwise(n, n * size, 8 * n), *row_scan(n, 8 * n, 8 * n)]
        found += [moved("scatter", n, 1, 16 * n, 8 * n)]
    found += [*row_scan(n, n * size, n * size), to_host(8)]
    if counts:
        found += [pointwise(n, 8 * n, 8 * n)]
    return tuple(found)


@cost("aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor")
def isin(op: Signature) -> Works:
    """Few test elements: a comparison of all pairs, and their `any`. Else both are sorted as one.

    The bound is 10·n^0.145 test elements (TensorCompare.cpp, isin_default).
    """
    values, tests = op.get("elements"), op.get("test_elements")
    n = values.numel if values is not None else 1
    m = tests.numel if tests is not None else 1
    known = values or tests
    size = known.itemsize if known is not None else 8
    if m < 10 * n**0.145:
        pairs = n * m
        return (
            pointwise(pairs, (n + m) * size, pairs, inputs=2),
            reduction(n, m, pairs, n),
            pointwise(n, n, n, flops=0),
        )
    both = n + m
    merged = Tensor((both,), "int64" if size == 8 else "float32", (1,))
    return (
        clone(merged),
        numbers(both),
        *radix_sort(both, size, 8),
        pointwise(both, 2 * both * size, both, inputs=2),
        tile_states(both),
        moved("scatter", both, 1, 9 * both, both),
        moved("gather", n, 1, 8 * n, n),
    )


@cost("aten.multinomial.default")
def multinomial(op: Signature) -> Works:
    """One draw is argmax(p / q) of exponential q, with checks of p that the host waits for.

    With replacement: normalise, sum up, and search (Distributions.cpp, MultinomialKernel.cu).
    """
    x, out = op["self"], op.out
    n, full = x.numel, x.nbytes
    rows, cols = _rows(x, -1)
    check = (pointwise(n, full, n, flops=3), reduction(1, n, n, 1), to_host(1))
    if not op.arg("replacement", False) or op.arg("num_samples", 1) == 1:
        draw = pointwise(n, 0, full, flops=2, slots=40, inputs=0)
        divide = pointwise(n, 2 * full, full, inputs=2, slots=8)
        best = reduction(rows, cols, full, out.nbytes)
        return *check * 2, draw, divide, best
    sums = scan(x, x, -1)
    search = moved("gather", out.numel, 1, min(full, out.numel * x.itemsize * 20), out.nbytes)
    return reduction(rows, cols, full, full), *sums, search
