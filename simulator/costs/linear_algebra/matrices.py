"""Linear algebra that needs no factorization (ATen/native: Linear.cpp, Normalization.cpp)."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.elementwise import elementwise
from simulator.costs.kernels.launches import (
    full_bytes,
    indexed_access,
    pointwise,
    reduction,
    to_host,
    vector_dtype,
)
from simulator.costs.linear_algebra.factorizations import batched_shape
from simulator.costs.movement.fills import fill_of
from simulator.costs.reductions import dimensions
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major

_SQUARINGS = 8
"""Products of a matrix exponential: five for the Taylor polynomial of degree 18, and three
squarings, whose number depends on the norm (Bader, Blanes and Casas, 2019)."""


@cost("aten.linalg_matrix_exp.default", waits=True, data_dependent=True)
def matrix_exponential(op: Signature) -> tuple[Work, ...]:
    """Products of n³ multiply-adds, after norms that the host waits for."""
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
        dtype=vector_dtype(x.dtype),
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
def lu_unpack(op: Signature) -> tuple[Work, ...]:
    """One pass per triangle, the permutation from the pivots, and its matrix."""
    x = op.inputs[0]
    triangles = [
        pointwise(out.numel, full_bytes(x), full_bytes(out)) for out in op.outputs[1:] if out.numel
    ]
    pivots = op.inputs[1]
    if not op.outputs[0].numel:
        return tuple(triangles)
    swaps = pointwise(pivots.numel, full_bytes(pivots), 8 * pivots.numel)
    return (
        *triangles,
        swaps,
        *fill_of(op.outputs[0]),
        indexed_access("scatter", pivots.numel, 1, 8 * pivots.numel, pivots.numel * x.itemsize),
    )


@cost(
    "aten.renorm.default",
    "aten.renorm_.default",
    "aten.renorm.out",
    traits=Traits(autocast="float32"),
)
def renorm(op: Signature) -> tuple[Work, ...]:
    """The norm of each slice, taken to be the Euclidean one, its factor, and the product."""
    x = op["self"]
    rank = len(x.shape)
    dim: int = op.arg("dim", 0) % rank
    slices = x.shape[dim]
    sizes = tuple(slices if d == dim else 1 for d in range(rank))
    factors = Tensor(sizes, "float32", row_major(sizes))
    args = {"dim": [d for d in range(rank) if d != dim]}
    norms = replace(op, inputs=(x,), outputs=(factors,), names=("self",), args=args, aliases=())
    packed = replace(factors, dtype=x.dtype)
    product = replace(op, inputs=(x, packed), names=("self", "other"), aliases=())
    return (
        *dimensions.reduction(norms, (2, 1), (1, 6), kind="norm"),
        pointwise(slices, factors.nbytes, factors.nbytes, slots=10),
        *elementwise(product, (1, 1)),
    )


@cost("aten.linalg_cross.default", "aten.linalg_cross.out")
def cross(op: Signature) -> tuple[Work, ...]:
    """Two products and a difference per element, one thread each."""
    n, size = op.out.numel, op["self"].nbytes + op["other"].nbytes
    return (pointwise(n, size, full_bytes(op.out), flops=3, slots=6, inputs=2),)


@cost("aten._trilinear.default")
def trilinear(op: Signature) -> tuple[Work, ...]:
    """Σ x·W·y by slices of W along the unrolled dimension: multiply two operands, then the third,
    sum, and add to the result (Linear.cpp, `_trilinear`)."""
    left, weight, right = op.inputs
    unrolled: int = op.arg("unroll_dim", 1)
    shape = weight.shape if len(weight.shape) == 3 else (1, *weight.shape)
    expanded: list[int] = op.arg("expand2", [0])
    slices = shape[unrolled - 1] if unrolled not in expanded else 1
    rows, inside, wide = left.numel // max(shape[1], 1), shape[1], shape[2]
    size = rows * wide * left.itemsize
    product = Work(
        "gemm",
        2 * rows * inside * wide,
        left.nbytes + inside * wide * left.itemsize,
        size,
        dtype=vector_dtype(left.dtype),
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
    dots = reduction(
        rows, wide, size + right.nbytes, rows * left.itemsize, flops=2, dtype=left.dtype
    )
    accumulate = pointwise(rows, 2 * rows * left.itemsize, rows * left.itemsize, inputs=2)
    return (*fill_of(op.out), *(product, dots, accumulate) * max(1, slices))
