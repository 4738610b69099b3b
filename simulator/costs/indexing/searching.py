"""Searches, histograms, distinct values and draws from a distribution."""

from __future__ import annotations

from simulator.costs.indexing.sorting import rows_along
from simulator.costs.kernels.launches import (
    clone,
    fill_like,
    index_range,
    indexed_access,
    pointwise,
    reduction,
    row_scan,
    scan,
    tile_states,
    to_host,
)
from simulator.costs.kernels.radix import radix_sort
from simulator.costs.reductions.dimensions import extreme
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor


@cost(
    "aten.searchsorted.Tensor",
    "aten.searchsorted.Scalar",
    "aten.bucketize.Tensor",
    "aten.bucketize.Scalar",
)
def search(op: Signature) -> Work:
    """Binary search: log2(boundaries) probes per value, each of which reads one boundary."""
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


def _histogram(x: Tensor, more: int, out: Tensor) -> tuple[Work, ...]:
    """Zeros, then one kernel that counts with atomics: a block keeps its counts in shared memory
    and adds them to the result at its end (SummaryOps.cu, `kernelHistogram1D`)."""
    count = Work(
        "scatter",
        x.numel,
        x.nbytes + more,
        out.nbytes,
        instructions=8 * x.numel,
        dims={"elements": x.numel, "width": 1, "bins": out.numel, "variant": "histogram"},
    )
    return fill_like(out), count


def _extremes(x: Tensor) -> tuple[Work, ...]:
    """The smallest and the largest value, which the host fetches one after the other."""
    return (extreme(x.numel, x.dtype), to_host(x.itemsize)) * 2


def _lacks_range(op: Signature) -> bool:
    """Whether the host reads the extremes because no range is given."""
    return op.arg("min", 0) == op.arg("max", 0)


@cost("aten.histc.default", waits=_lacks_range)
def histc(op: Signature) -> tuple[Work, ...]:
    """If no range is given, the host first fetches the smallest and largest value."""
    x = op["self"]
    before = _extremes(x) if _lacks_range(op) else ()
    return *before, *_histogram(x, 0, op.out)


@cost("aten.bincount.default", waits=True, data_dependent=True)
def bincount(op: Signature) -> tuple[Work, ...]:
    """The host fetches the smallest and largest value to size the bins."""
    x, weights = op["self"], op.get("weights")
    return *_extremes(x), *_histogram(x, weights.nbytes if weights is not None else 0, op.out)


def _lacks_output_size(op: Signature) -> bool:
    return op.arg("output_size") is None


@cost("aten.repeat_interleave.Tensor", waits=_lacks_output_size, data_dependent=True)
def repeat_interleave(op: Signature) -> tuple[Work, ...]:
    """A scan of the repeats, a copy of their sum to the host unless `output_size` is given, and the
    scatter."""
    repeats, out = op["repeats"], op.out
    n = repeats.numel
    sums = row_scan(n, repeats.nbytes, 8 * n)
    wait = (to_host(8),) if _lacks_output_size(op) else ()
    return *sums, *wait, indexed_access("scatter", out.numel, 1, repeats.nbytes + 8 * n, out.nbytes)


@cost(
    "aten._unique.default",
    "aten._unique2.default",
    "aten.unique_consecutive.default",
    waits=True,
    data_dependent=True,
)
@cost("aten.unique_dim.default", "aten.unique_dim_consecutive.default")
def unique(op: Signature) -> tuple[Work, ...]:
    """A sort (unless only consecutive values are compared), a selection, and a copy of its length
    to the host.

    The inverse is a comparison of neighbours, a scan and a scatter; the counts are differences.
    The columns of `unique_dim` count as one key, which underestimates their comparison.
    """
    x = op["self"]
    n, size = x.numel, x.itemsize
    if n == 0:
        return ()
    sorts = "consecutive" not in op.name
    inverse, counts = op.arg("return_inverse", False), op.arg("return_counts", False)
    launches: list[Work] = []
    if sorts:
        launches += [index_range(n)] if inverse else []
        launches += radix_sort(n, size, 8 if inverse else 0)
    if inverse:
        launches += [pointwise(n, n * size, 8 * n), *row_scan(n, 8 * n, 8 * n)]
        launches += [indexed_access("scatter", n, 1, 16 * n, 8 * n)]
    launches += [*row_scan(n, n * size, n * size), to_host(8)]
    if counts:
        launches += [pointwise(n, 8 * n, 8 * n)]
    return tuple(launches)


@cost("aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor")
def isin(op: Signature) -> tuple[Work, ...]:
    """With few test elements, compare all pairs, then `any`. Otherwise sort both as one tensor.

    The bound is 10·n^0.145 test elements (TensorCompare.cpp, isin_default).
    """
    values, tests = op.get("elements"), op.get("test_elements")
    n = values.numel if values is not None else 1
    m = tests.numel if tests is not None else 1
    size = (values or op["test_elements"]).itemsize
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
        index_range(both),
        *radix_sort(both, size, 8),
        pointwise(both, 2 * both * size, both, inputs=2),
        tile_states(both),
        indexed_access("scatter", both, 1, 9 * both, both),
        indexed_access("gather", n, 1, 8 * n, n),
    )


@cost("aten.multinomial.default")
def multinomial(op: Signature) -> tuple[Work, ...]:
    """A single draw is argmax(p / q) with exponentially distributed q, after checks of p that the
    host waits for.

    With replacement: copy twice, normalise, scan and search (Distributions.cpp,
    MultinomialKernel.cu).
    """
    x, out = op["self"], op.out
    n, full = x.numel, x.nbytes
    rows, cols = rows_along(x, -1)
    check = (pointwise(n, full, n, flops=3), reduction(1, n, n, 1), to_host(1))
    if not op.arg("replacement", False) or op.arg("num_samples", 1) == 1:
        draw = pointwise(n, 0, full, flops=2, slots=40, inputs=0)
        divide = pointwise(n, 2 * full, full, inputs=2, slots=8)
        best = reduction(rows, cols, full, out.nbytes)
        return *check * 2, draw, divide, best
    sums = scan(x, x, -1)
    search = indexed_access(
        "gather", out.numel, 1, min(full, out.numel * x.itemsize * 20), out.nbytes
    )
    return clone(x), clone(x), reduction(rows, cols, full, full), *sums, search
