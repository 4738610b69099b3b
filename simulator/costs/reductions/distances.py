"""Distances between points: pairwise ones, and the norm of a difference."""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import (
    copy,
    fill,
    full_bytes,
    pointwise,
    reduction,
    vector_dtype,
)
from simulator.costs.movement.fills import fill_of
from simulator.costs.reductions.dimensions import sum_over_rows
from simulator.costs.reductions.losses import pointwise_terms
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor


@cost("aten._cdist_forward.default")
def cdist(op: Signature) -> tuple[Work, ...]:
    """Distances [b, p, r] of [b, p, m] and [b, r, m]: 3·m FLOPs each, one block per pair.

    Euclidean distances of more than 25 points use the matrix product |x|² + |y|² - 2·x·y: squares
    and sums of each, ones, concatenations, the product, a clamp and a root (Distance.cpp).
    """
    x, y, out = op["x1"], op["x2"], op.out
    (p, m), r = x.shape[-2:], y.shape[-2]
    b, size = out.numel // max(p * r, 1), out.itemsize
    mode = op.arg("compute_mode", 0) or 0
    if op.arg("p", 2.0) == 2.0 and (mode == 1 or (mode == 0 and max(p, r) > 25)):
        full = out.nbytes
        launches: list[Work] = []
        for points in (x, y):
            rows, whole = points.numel // m, points.numel * size
            wider = Tensor((rows, m + 2), out.dtype, (m + 2, 1))
            launches += [
                pointwise_terms(op, points.numel, 1, whole, whole),
                reduction(rows, m, whole, rows * size, dtype=out.dtype),
                fill(rows, size),
                copy(wider, wider.nbytes),
            ]
        k = m + 2
        product = Work(
            "gemm",
            2 * b * p * r * k,
            b * (p + r) * k * size,
            full,
            "vector",
            vector_dtype(out.dtype),
            b * p * r * k,
            {"b": b, "m": p, "n": r, "k": k, "transa": False, "transb": True, "epilogue": None},
        )
        last = pointwise_terms(op, out.numel, 1, full, full)
        return (*launches, product, last, pointwise_terms(op, out.numel, 1, full, full, specials=1))
    return (_of_pairs(out.numel, m, op.read_bytes, out.nbytes, out.dtype),)


_BLOCK = 256


def _of_pairs(pairs: int, m: int, read: int, write: int, dtype: str) -> Work:
    """One block per pair, which sums `m` terms of three FLOPs (DistanceKernel.cu)."""
    one = reduction(pairs, m, read, write, flops=3, dtype=dtype)
    dims = {"variant": "pairs", "outputs": pairs, "cols": m, "runs": pairs}
    return replace(one, dims=dims | {"steps": -(-m // _BLOCK)})


_PAIRS = 16
"""Pairs of a block of the backward kernels."""


def _terms_of_pairs(pairs: int, m: int, read: int, write: int, dtype: str) -> Work:
    """The gradients of `pairs` distances by `m` coordinates, each term four FLOPs."""
    one = reduction(pairs, m, read, write, flops=4, dtype=dtype)
    runs = -(-pairs // _PAIRS)
    dims = {"variant": "pairs_backward", "outputs": pairs, "cols": m, "runs": runs}
    return replace(one, dims=dims)


@cost("aten._cdist_backward.default")
def cdist_backward(op: Signature) -> tuple[Work, Work]:
    """A gradient [r, b, p, m] for each pair and coordinate, then its sum over r."""
    x, r = op["x1"], op["x2"].shape[-2]
    m = max(x.shape[-1], 1)
    terms = _terms_of_pairs(x.numel // m * r, m, op.read_bytes, x.numel * r * x.itemsize, x.dtype)
    return terms, sum_over_rows(r, x.numel, x.dtype)


@cost("aten._pdist_forward.default", "aten._pdist_backward.default")
def pdist(op: Signature) -> tuple[Work, ...]:
    """Distances of the n·(n - 1)/2 pairs of n points; backward a gradient [n - 1, n, m] of both
    points of each pair, then its sum."""
    x = op["self"]
    n, m = x.shape
    pairs = n * (n - 1) // 2
    if "backward" not in op.name:
        return (_of_pairs(pairs, m, op.read_bytes, op.out.nbytes, x.dtype),)
    full = (n - 1) * n * m * x.itemsize  # each pair is stored for both of its points
    terms = _terms_of_pairs(pairs, m, op.read_bytes, full, x.dtype)
    return terms, sum_over_rows(n - 1, n * m, x.dtype)


@cost("aten.dist.default", "aten.dist.out", traits=Traits(autocast="float32"))
def distance(op: Signature) -> tuple[Work, ...]:
    """The difference, then its norm."""
    x, y = op["self"], op["other"]
    n, size = max(x.numel, y.numel), max(full_bytes(x), full_bytes(y))
    return (
        pointwise(n, x.nbytes + y.nbytes, size, inputs=2, dtype=x.dtype),
        reduction(1, n, size, op.out.nbytes, flops=2, dtype=x.dtype),
    )


@cost("aten._euclidean_dist.default", "aten._euclidean_dist.out")
def euclidean(op: Signature) -> tuple[Work, ...]:
    """Concatenate |x|² and |y|² to x and y, so that one product gives |x|² − 2·x·y + |y|²; then the
    root."""
    launches: list[Work] = []
    for x in op.inputs:
        size, rows = full_bytes(x), x.numel // max(x.shape[-1], 1)
        launches += [
            pointwise(x.numel, size, size, dtype=x.dtype),
            reduction(rows, x.shape[-1], size, rows * x.itemsize, dtype=x.dtype),
            *fill_of(Tensor((rows,), x.dtype, (1,))),
            Work(
                "concat",
                0,
                size + 2 * rows * x.itemsize,
                size + 2 * rows * x.itemsize,
                dtype=vector_dtype(x.dtype),
                instructions=35 * (x.numel + 2 * rows),
                dims={
                    "elements": x.numel + 2 * rows,
                    "vectorized": False,
                    "contiguous": True,
                    "parts": 3,
                    "run_bytes": x.shape[-1] * x.itemsize,
                    "align_bytes": 4,
                },
            ),
        ]
    x, y = op.inputs
    (*outer, m, k), n, size = x.shape, y.shape[-2], full_bytes(op.out)
    b, depth = prod(outer), k + 2
    product = Work(
        "gemm",
        2 * b * m * n * depth,
        b * (m + n) * depth * x.itemsize,
        size,
        dtype=vector_dtype(x.dtype),
        instructions=b * m * n * depth,
        dims={
            "b": b,
            "m": m,
            "n": n,
            "k": depth,
            "transa": False,
            "transb": True,
            "align_bytes": 4,
            "epilogue": None,
        },
    )
    root = pointwise(op.out.numel, size, size, slots=7, dtype=x.dtype)
    return *launches, product, root, root
