"""Ops that networks seldom call, made of the launches of others (their CUDA and composite kernels
in ATen/native: Distance.cpp, Linear.cpp, Normalization.cpp, SegmentReduce.cu, TensorShape.cpp)."""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.copies import move
from simulator.costs.fills import PHILOX, fill_of
from simulator.costs.indexing import nonzero_of
from simulator.costs.launches import lanes, moved, numbers, pointwise, reduction, to_host
from simulator.costs.matmul import unit
from simulator.costs.pointwise import elementwise
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major

Works = tuple[Work, ...]


def _full(x: Tensor) -> int:
    return x.numel * x.itemsize


# -- diagonals, blocks and parts ------------------------------------------------------------------


@cost("aten.diag_embed.default", "aten.block_diag.default")
def into_zeros(op: Signature) -> Works:
    """Zeros, then a copy of each input into its place."""
    steps = row_major(op.out.shape)
    parts: list[Work] = []
    for x in op.inputs:
        wide = (*steps[: len(x.shape) - 1], sum(steps[-2:])) if "embed" in op.name else steps[-2:]
        parts += move(x, replace(x, stride=tuple(wide[-len(x.shape) :]) if x.shape else ()))
    return (*fill_of(op.out), *parts)


@cost(
    "aten.split_with_sizes_copy.default",
    "aten.unbind_copy.int",
    "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",
    "aten.split_copy.Tensor",
)
def parts(op: Signature) -> Works:
    """A copy of each part."""
    return tuple(
        Work(
            "copy",
            0,
            _full(out),
            _full(out),
            instructions=30 * out.numel,
            dims={"elements": out.numel, "transposed": False},
        )
        for out in op.outputs
        if out.numel
    )


@cost("aten.lu_unpack.default", "aten.lu_unpack.out")
def unpacked(op: Signature) -> Works:
    """Both triangles in one pass each, the permutation from the pivots, and its matrix."""
    x = op.inputs[0]
    found = [pointwise(out.numel, _full(x), _full(out)) for out in op.outputs[1:] if out.numel]
    pivots = op.inputs[1]
    if not op.outputs[0].numel:
        return tuple(found)
    swaps = pointwise(pivots.numel, _full(pivots), 8 * pivots.numel)
    return (
        *found,
        swaps,
        *fill_of(op.outputs[0]),
        moved("scatter", pivots.numel, 1, 8 * pivots.numel, pivots.numel * x.itemsize),
    )


# -- masks ----------------------------------------------------------------------------------------


@cost("aten._unsafe_masked_index.default")
def masked_index(op: Signature) -> Works:
    """Each index clamped, the gather, and what is masked out filled in place."""
    n, size, mask = op.out.numel, _full(op.out), op["mask"]
    clamps = tuple(pointwise(i.numel, _full(i), _full(i), flops=2) for i in op.tensors("indices"))
    found = moved(
        "gather",
        n,
        1,
        size + sum(map(_full, op.tensors("indices"))),
        size,
        variant="index",
        table_bytes=op["self"].nbytes,
        runs=n,
    )
    return (*clamps, found, pointwise(n, _full(mask), size, inputs=2)) if n else ()


@cost("aten._unsafe_masked_index_put_accumulate.default")
def masked_put(op: Signature) -> Works:
    """The values filled where they are masked out, each index clamped, and one sum into place."""
    target, values = op["self"], op["values"]
    n, size = values.numel, _full(values)
    clamps = tuple(pointwise(i.numel, _full(i), _full(i), flops=2) for i in op.tensors("indices"))
    read = size + sum(map(_full, op.tensors("indices"))) + min(size, target.nbytes)
    write = moved(
        "scatter",
        n,
        1,
        read,
        min(size, target.nbytes),
        flops=1,
        variant="sorted",
        table_bytes=target.nbytes,
    )
    filled = (*move(values, values), pointwise(n, _full(op["mask"]), size, inputs=2))
    return (*filled, *clamps, *move(target, target), numbers(n), write) if n else ()


@cost("aten.masked_scatter_backward.default")
def masked_scatter_backward(op: Signature) -> Works:
    """The gradient where the mask is, and zeros for what of the source was not taken."""
    grad, mask, out = op["grad_output"], op["mask"], op.out
    kept = max(1, grad.numel // 2)
    size = kept * grad.itemsize
    picked = moved(
        "gather",
        kept,
        1,
        8 * kept + size,
        size,
        variant="index",
        runs=kept,
        table_bytes=grad.nbytes,
    )
    copied = Work(
        "copy", 0, size, size, instructions=30 * kept, dims={"elements": kept, "transposed": False}
    )
    return *nonzero_of(mask), picked, *fill_of(out), copied


# -- distances and norms --------------------------------------------------------------------------


@cost("aten.dist.default", "aten.dist.out")
def distance(op: Signature) -> Works:
    """The difference, then its norm."""
    one, other = op["self"], op["other"]
    n, size = max(one.numel, other.numel), max(_full(one), _full(other))
    return (
        pointwise(n, one.nbytes + other.nbytes, size, inputs=2, dtype=one.dtype),
        reduction(1, n, size, op.out.nbytes, flops=2, dtype=one.dtype),
    )


@cost("aten._euclidean_dist.default", "aten._euclidean_dist.out")
def euclidean(op: Signature) -> Works:
    """|x|² and |y|² beside x and y, so that one product gives |x|² − 2·x·y + |y|²; its root."""
    found: list[Work] = []
    for x in op.inputs:
        size, rows = _full(x), x.numel // max(x.shape[-1], 1)
        found += [
            pointwise(x.numel, size, size, dtype=x.dtype),
            reduction(rows, x.shape[-1], size, rows * x.itemsize, dtype=x.dtype),
            *fill_of(Tensor((rows,), x.dtype, (1,))),
            Work(
                "concat",
                0,
                size + 2 * rows * x.itemsize,
                size + 2 * rows * x.itemsize,
                dtype=lanes(x.dtype),
                instructions=4 * (x.numel + 2 * rows),
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
    (*outer, m, k), n, size = x.shape, y.shape[-2], _full(op.out)
    b, depth = prod(outer), k + 2
    product = Work(
        "gemm",
        2 * b * m * n * depth,
        b * (m + n) * depth * x.itemsize,
        size,
        dtype=lanes(x.dtype),
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
    return *found, product, root, root


@cost("aten.renorm.default", "aten.renorm_.default", "aten.renorm.out")
def renormed(op: Signature) -> Works:
    """A norm for each slice, what it is divided by, and the product."""
    x = op["self"]
    slices = x.shape[op.arg("dim", 0) % max(len(x.shape), 1)] if x.shape else 1
    norms = 4 * slices
    return (
        reduction(slices, x.numel // max(slices, 1), x.nbytes, norms, flops=2, dtype=x.dtype),
        pointwise(slices, norms, norms, slots=10),
        pointwise(x.numel, x.nbytes + norms, _full(op.out), inputs=2, dtype=x.dtype),
    )


@cost("aten.linalg_cross.default", "aten.linalg_cross.out")
def cross(op: Signature) -> Works:
    """Three results of two products and a difference, by a thread each."""
    n, size = op.out.numel, op["self"].nbytes + op["other"].nbytes
    return (pointwise(n, size, _full(op.out), flops=3, slots=6, inputs=2),)


@cost("aten._trilinear.default")
def trilinear(op: Signature) -> Works:
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


@cost("aten.segment_reduce.default", "aten._segment_reduce_backward.default")
def segments(op: Signature) -> Works:
    """A thread for each result goes through its segment, one element after another."""
    x, out = op["data"], op.out
    rows = x.shape[int(op.arg("axis", 0))] if x.shape else 1
    many = max(1, (op.get("output") or out).numel * rows // max(x.numel, 1))
    work = reduction(max(out.numel, 1), rows // many + 1, op.read_bytes, _full(out))
    return (replace(work, dims={**work.dims, "steps": rows // many + 1}),)


@cost("aten.hash_tensor.default")
def hashed(op: Signature) -> Works:
    """One pass that folds all elements."""
    x, rows = op["self"], max(op.out.numel, 1)
    return (reduction(rows, x.numel // rows, x.nbytes, _full(op.out)),)


# -- functions of elements ------------------------------------------------------------------------

_POLYNOMIALS = (
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
)  # fmt: skip


@cost(
    *(
        f"aten.special_{name}.{kind}"
        for name in _POLYNOMIALS
        for kind in ("default", "x_scalar", "n_scalar")
    )
)
def polynomial(op: Signature) -> Works:
    """A recurrence of as many steps as its degree, which is data: ten are taken."""
    return elementwise(op, (30, 60))


@cost(
    "aten.special_scaled_modified_bessel_k0.default",
    "aten.special_scaled_modified_bessel_k1.default",
    "aten.frexp.Tensor",
)
def special(op: Signature) -> Works:
    """A polynomial of about twenty terms, or two parts of a number's bits."""
    return elementwise(op, (2, 4) if "frexp" in op.name else (1, 60))


@cost("aten.mvlgamma.default", "aten.mvlgamma_.default")
def mvlgamma(op: Signature) -> Works:
    """Σ lgamma(x − i/2) over p numbers: all of them, then their sum and a constant."""
    x, p = op["self"], int(op.arg("p", 1))
    size, n = _full(x), x.numel
    return (
        numbers(p, x.itemsize),
        pointwise(n * p, size + p * x.itemsize, size * p, inputs=2),
        pointwise(n * p, size * p, size * p, slots=60),
        reduction(n, p, size * p, size),
        pointwise(n, size, size),
    )


@cost("aten.normal.Tensor_Tensor", "aten.normal.Tensor_float", "aten.normal.float_Tensor")
def normal(op: Signature) -> Works:
    """Numbers of mean 0 and deviation 1, then times the deviation and plus the mean, in place."""
    n, size = op.out.numel, _full(op.out)
    if not n:
        return ()
    drawn = Work(
        "random",
        3 * n,
        0,
        size,
        instructions=(PHILOX // 4 + 20) * n,
        dims={"elements": n, "slots": 20, "vector": 1},
    )
    return drawn, *(pointwise(n, size + x.nbytes, size, inputs=2) for x in op.inputs)


@cost(
    *(
        f"aten.{name}.{kind}"
        for name in ("linspace", "logspace")
        for kind in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")
    )
)
def between(op: Signature) -> Works:
    """The ends fetched by the host, then each number from its index."""
    ends = tuple(to_host(x.itemsize) for x in op.inputs if x.device != "cpu")
    return (*ends, numbers(op.out.numel, op.out.itemsize)) if op.out.numel else ends


@cost(
    "torch_nn._linear_cross_entropy_batch_chunked.default",
    "torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default",
)
def chunked_cross_entropy(op: Signature) -> Works:
    """By chunks of rows: logits, their maximum, exponentials and sums, and the products of what
    gradients are wanted (torch/nn/modules/linear_cross_entropy.py)."""
    x, weight = op["input"], op["linear_weight"]
    (classes, features), rows = weight.shape, x.numel // max(weight.shape[1], 1)
    chunk = min(rows, int(op.arg("batch_chunk_size", rows)) or rows) or 1
    size = chunk * classes * x.itemsize
    engine, dtype = unit(x.dtype)

    def product(m: int, n: int, k: int) -> Work:
        moved_bytes = (m * k + k * n) * x.itemsize
        return Work(
            "gemm",
            2 * m * n * k,
            moved_bytes,
            m * n * x.itemsize,
            engine,
            dtype,
            m * n * k if engine == "vector" else 0,
            {
                "b": 1,
                "m": m,
                "n": n,
                "k": k,
                "transa": False,
                "transb": True,
                "align_bytes": 4,
                "epilogue": None,
            },
        )

    found = [
        product(chunk, classes, features),
        reduction(chunk, classes, size, chunk * x.itemsize),
        pointwise(chunk * classes, size, size, slots=8),
        reduction(chunk, classes, size, chunk * x.itemsize),
    ]
    if op.arg("compute_input_grad", False):
        found.append(product(chunk, features, classes))
    if op.arg("compute_linear_weight_grad", False):
        found.append(product(classes, features, chunk))
    return tuple(found) * -(-rows // chunk)
