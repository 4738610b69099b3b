"""Linear algebra that needs no factorization (ATen/native: Linear.cpp, Normalization.cpp)."""

from __future__ import annotations

from simulator.costs.factorizations import batched_shape
from simulator.costs.fills import fill_of
from simulator.costs.launches import full_bytes, lanes, moved, pointwise, reduction, to_host
from simulator.costs.registry import Work, cost
from simulator.records import Signature

_SQUARINGS = 8
"""Products of a matrix exponential: five of Taylor's polynomial of degree 18 and three squarings,
which the norm decides (Bader, Blanes and Casas, 2019)."""


@cost("aten.linalg_matrix_exp.default")
def matrix_exponential(op: Signature) -> tuple[Work, ...]:
    """Products of n³ multiply-adds, the norms of which the host waits for."""
    x = op.inputs[0]
    batch, n, _ = batched_shape(x)
    if not x.numel:
        return ()
    size = x.numel * x.itemsize
    norms = reduction(batch * n, n, size, batch * n * x.itemsize)
    product = Work(
        "gemm",
        2 * batch * n**3,
        2 * size,
        size,
        dtype=lanes(x.dtype),
        dims={
            "b": batch,
            "m": n,
            "n": n,
            "k": n,
            "transa": False,
            "transb": False,
            "align_bytes": x.itemsize,
            "epilogue": None,
        },
    )
    summed = pointwise(x.numel, 2 * size, size, inputs=2)
    return norms, to_host(batch * x.itemsize), *(product, summed) * _SQUARINGS


@cost("aten.lu_unpack.default", "aten.lu_unpack.out")
def unpacked(op: Signature) -> tuple[Work, ...]:
    """Both triangles in one pass each, the permutation from the pivots, and its matrix."""
    x = op.inputs[0]
    found = [
        pointwise(out.numel, full_bytes(x), full_bytes(out)) for out in op.outputs[1:] if out.numel
    ]
    pivots = op.inputs[1]
    if not op.outputs[0].numel:
        return tuple(found)
    swaps = pointwise(pivots.numel, full_bytes(pivots), 8 * pivots.numel)
    return (
        *found,
        swaps,
        *fill_of(op.outputs[0]),
        moved("scatter", pivots.numel, 1, 8 * pivots.numel, pivots.numel * x.itemsize),
    )


@cost("aten.renorm.default", "aten.renorm_.default", "aten.renorm.out")
def renormed(op: Signature) -> tuple[Work, ...]:
    """A norm for each slice, what it is divided by, and the product."""
    x = op["self"]
    slices = x.shape[op.arg("dim", 0) % max(len(x.shape), 1)] if x.shape else 1
    norms = 4 * slices
    return (
        reduction(slices, x.numel // max(slices, 1), x.nbytes, norms, flops=2, dtype=x.dtype),
        pointwise(slices, norms, norms, slots=10),
        pointwise(x.numel, x.nbytes + norms, full_bytes(op.out), inputs=2, dtype=x.dtype),
    )


@cost("aten.linalg_cross.default", "aten.linalg_cross.out")
def cross(op: Signature) -> tuple[Work, ...]:
    """Three results of two products and a difference, by a thread each."""
    n, size = op.out.numel, op["self"].nbytes + op["other"].nbytes
    return (pointwise(n, size, full_bytes(op.out), flops=3, slots=6, inputs=2),)


@cost("aten._trilinear.default")
def trilinear(op: Signature) -> tuple[Work, ...]:
    """Σ x·W·y by slices of W along the unrolled dimension: a product of two, times the third,
    summed, and added to the result (Linear.cpp, `_trilinear`)."""
    one, weight, two = op.inputs
    unrolled = op.arg("unroll_dim", 1)
    shape = weight.shape if len(weight.shape) == 3 else (1, *weight.shape)
    expanded: list[int] = op.arg("expand2", [0])
    slices = shape[unrolled - 1] if unrolled not in expanded else 1
    rows, inside, wide = one.numel // max(shape[1], 1), shape[1], shape[2]
    size = rows * wide * one.itemsize
    product = Work(
        "gemm",
        2 * rows * inside * wide,
        one.nbytes + inside * wide * one.itemsize,
        size,
        dtype=lanes(one.dtype),
        instructions=rows * inside * wide,
        dims={
            "b": 1,
            "m": rows,
            "n": wide,
            "k": inside,
            "transa": False,
            "transb": False,
            "align_bytes": 4,
            "epilogue": None,
        },
    )
    dots = reduction(rows, wide, size + two.nbytes, rows * one.itemsize, flops=2, dtype=one.dtype)
    added = pointwise(rows, 2 * rows * one.itemsize, rows * one.itemsize, inputs=2)
    return (*fill_of(op.out), *(product, dots, added) * max(1, slices))
