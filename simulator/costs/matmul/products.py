"""Matrix products: 2·b·m·n·k FLOPs; each operand is read once and the result written once.

cuBLAS fuses a one-dimensional bias into the epilogue, unless the second matrix has one row or
column. Any other addend is first copied into the result, which the product reads and overwrites
(ATen/native/cuda/Blas.cpp, `isInputCompliesAddmmCudaLt`).
"""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.curves import curve_rule
from simulator.costs.kernels.launches import copy, copy_onto, vector_dtype
from simulator.costs.registry import Engine, Work, cost
from simulator.records import Signature, Tensor

_PRODUCT = Traits(recompute="intensive", autocast="low")
_TENSOR_DTYPES = {"float16", "bfloat16", "int8", "uint8"}


def unit(dtype: str) -> tuple[Engine, str]:
    """Engine and dtype of a matrix product.

    float32 stays on the vector unit: TF32 is off by default (torch.backends.cuda.matmul); a trace
    marks the products for which the network's code allows it.
    So does float64: only data-centre GPUs have float64 tensor cores.
    """
    if dtype in _TENSOR_DTYPES or dtype.startswith(("float8", "float4")):
        return "tensor", dtype
    return "vector", vector_dtype(dtype)


def transposed(matrix: Tensor) -> bool:
    """True if the last two dimensions are stored in column-major order."""
    if matrix.contiguous or 1 in matrix.shape[-2:]:
        return False
    return matrix.stride[-2] == 1 and matrix.stride[-1] != 1


def _needs_copy(matrix: Tensor) -> bool:
    """True unless one of the two dimensions has stride 1 and the other one does not overlap, as
    cuBLAS requires."""
    (rows, columns), (down, across) = matrix.shape[-2:], matrix.stride[-2:]
    if rows <= 1 or columns <= 1:
        return False
    return not ((across == 1 and down >= columns) or (down == 1 and across >= rows))


def line_alignment(matrix: Tensor) -> int:
    """The largest power of two, up to 16 bytes, that divides the stride between lines, which are
    the contiguous rows or columns of a matrix: the widest possible load instruction."""
    pairs = list(zip(matrix.shape[-2:], matrix.stride[-2:], strict=True))
    steps = [step for size, step in pairs if size > 1 and step > 1]
    line_bytes = (min(steps) if steps else matrix.shape[-1]) * matrix.itemsize
    return min(16, line_bytes & -line_bytes)


def _alignment(a: Tensor, b: Tensor, out: Tensor) -> int:
    """The smallest line alignment of the matrices of a product, in bytes. A column is one line for
    the product of a matrix and a vector, except in an outer product."""
    if out.shape[-1] > 1 or a.shape[-1] == 1:
        return min(line_alignment(x) for x in (a, b, out))
    lines = [max(x.shape[-2:]) * x.itemsize for x in (b, out)]
    return min(line_alignment(a), *(line & -line for line in lines))


def by_dot_products(work: Work) -> bool:
    """Whether cuBLAS uses a matrix-vector kernel: m or n is 1, and no tensor-core kernel of the
    dtype can load the lines. In 16 bits such a kernel needs lines of multiples of 16 bytes; this
    rule is right for 626 of 641 such products on an H200. An outer product (k is 1) needs no
    sum."""
    d = work.dims
    if d["m"] > 1 and d["n"] > 1:
        return False
    align_bytes = d.get("align_bytes", inf)
    if work.dtype in ("float16", "bfloat16"):
        return d["k"] > 1 and align_bytes < 16
    return work.dtype in ("float32", "float64", "tf32") or align_bytes < 8


@curve_rule("gemm")
def product_curve(work: Work) -> str:
    """Name of the curve. cuBLAS has separate kernels for each size of numbers and, in 16 bits, for
    lines (`line_alignment`) that bulk loads (multiples of 16 bytes) or asynchronous copies
    (multiples of 4 bytes) cannot fetch."""
    if by_dot_products(work):
        return "gemv"
    if work.engine == "vector":
        return "gemm_vector"
    if "item_bytes" in work.dims:  # separate kernels, with tiles of 8 and 16 rows
        return "gemm_tensor_packed"
    if work.dtype in ("float16", "bfloat16"):
        align_bytes = work.dims.get("align_bytes", inf)
        if align_bytes < 16:
            return "gemm_tensor_half_4" if align_bytes >= 4 else "gemm_tensor_half_2"
        return "gemm_tensor_half"
    if work.dtype in ("int8", "uint8"):
        return "gemm_tensor_int8"
    return "gemm_tensor_tf32" if work.dtype == "tf32" else "gemm_tensor_float8"


def as_matvec(product: Work) -> Work:
    """Add the steps of a matrix-vector kernel, whose threads read each line 128 elements at a
    time."""
    if not by_dot_products(product):
        return product
    d = product.dims
    return replace(
        product, dims={**d, "runs": d["b"] * d["m"] * d["n"], "steps": -(-d["k"] // 128)}
    )


def gemm(
    op: Signature,
    a: Tensor,
    b: Tensor,
    *,
    batch: int,
    m: int,
    n: int,
    k: int,
    epilogue: str | None = None,
    addend: Tensor | None = None,
    **extra_dims: object,
) -> tuple[Work, ...]:
    """The product, after copies of operands whose layout cuBLAS does not accept.

    `addend` is the matrix C of `beta * C + A @ B`. It is copied into the result first unless it is
    the result itself; it is ignored if beta is 0.
    """
    engine, dtype = unit(a.dtype)
    copies = [copy(x, x.numel * x.itemsize) for x in (a, b) if x.numel and _needs_copy(x)]
    result = op.get("out")  # written, not read
    read = op.read_bytes - (result.nbytes if result is not None else 0)
    if addend is not None and op.arg("beta", 1) == 0:
        read -= addend.nbytes
    elif addend is not None and not op.name.endswith("mm_.default"):
        copies.append(copy_onto(addend, op.out))
        read += op.out.nbytes - addend.nbytes  # the product reads the copy
    product = Work(
        "gemm",
        flops=2 * batch * m * n * k,
        read_bytes=read,
        write_bytes=op.out.nbytes,
        engine=engine,
        dtype=dtype,
        instructions=batch * m * n * k if engine == "vector" else 0,
        dims={
            "b": batch,
            "m": m,
            "n": n,
            "k": k,
            "transa": transposed(a),
            "transb": transposed(b),
            "epilogue": epilogue,
            "align_bytes": _alignment(a, b, op.out),
            **extra_dims,
        },
    )
    return _in_precision(op, (*copies, as_matvec(product)))


def _in_precision(op: Signature, kernels: tuple[Work, ...]) -> tuple[Work, ...]:
    """The kernels of a product; of float32 numbers on tensor cores if the call allows TF32."""
    if not op.arg("tf32", False):
        return kernels
    return tuple(
        replace(w, engine="tensor", dtype="tf32", instructions=0) if w.family == "gemm" else w
        for w in kernels
    )


@cost("aten.mm.default", "aten.mm.dtype", "aten.mm.out", traits=_PRODUCT)
@cost("aten._int_mm.default")
def mm(op: Signature) -> tuple[Work, ...]:
    """[m, k] @ [k, n]."""
    a, b = op["self"], op["mat2"]
    return gemm(op, a, b, batch=1, m=a.shape[0], n=b.shape[1], k=a.shape[1])


@cost("aten._scaled_mm.default", traits=Traits(recompute="intensive"))
@cost("aten._scaled_mm_v2.default")
def scaled_mm(op: Signature) -> tuple[Work, ...]:
    """fp8 or fp4 [m, k] @ [k, n] with scales per tensor, row or block, and an optional bias."""
    a, b = op["self"], op["mat2"]
    epilogue = "bias" if op.get("bias") else None
    k = a.shape[1] * (2 if a.dtype.endswith("_x2") else 1)  # two 4-bit values per byte
    return gemm(op, a, b, batch=1, m=a.shape[0], n=b.shape[1], k=k, epilogue=epilogue)


@cost(
    "aten.addmm.default",
    "aten.addmm.dtype",
    "aten.addmm_.default",
    "aten.addmm.out",
    traits=_PRODUCT,
)
@cost("aten._addmm_activation.default")
def addmm(op: Signature) -> tuple[Work, ...]:
    """beta * self + [m, k] @ [k, n]; `_addmm_activation` adds ReLU or GELU to the epilogue."""
    a, b, c = op["mat1"], op["mat2"], op["self"]
    bias = c.shape == (b.shape[1],) and c.contiguous and op.arg("beta", 1) == 1
    bias = bias and min(b.shape) > 1
    activation = {}
    if "activation" in op.name:
        activation = {"activation": "gelu" if op.arg("use_gelu", False) else "relu"}
    return gemm(
        op,
        a,
        b,
        batch=1,
        m=a.shape[0],
        n=b.shape[1],
        k=a.shape[1],
        epilogue="bias" if bias else None,
        addend=None if bias else c,
        **activation,
    )


@cost("aten.bmm.default", "aten.bmm.dtype", "aten.bmm.out", traits=_PRODUCT)
def bmm(op: Signature) -> tuple[Work, ...]:
    """[b, m, k] @ [b, k, n]."""
    a, b = op["self"], op["mat2"]
    batch, m, k = a.shape
    return gemm(op, a, b, batch=batch, m=m, n=b.shape[2], k=k)


@cost(
    "aten.baddbmm.default",
    "aten.baddbmm.dtype",
    "aten.baddbmm_.default",
    "aten.baddbmm.out",
    traits=_PRODUCT,
)
def baddbmm(op: Signature) -> tuple[Work, ...]:
    """beta * self + [b, m, k] @ [b, k, n]."""
    a, b = op["batch1"], op["batch2"]
    batch, m, k = a.shape
    return gemm(op, a, b, batch=batch, m=m, n=b.shape[2], k=k, addend=op["self"])


@cost("aten.addbmm.default", "aten.addbmm_.default", traits=Traits(autocast="low"))
def addbmm(op: Signature) -> tuple[Work, ...]:
    """beta * self + the sum over b of [b, m, k] @ [b, k, n]: one addmm_ per matrix."""
    a, b = op["batch1"], op["batch2"]
    batch, m, k = a.shape
    n, out = b.shape[2], op.out.nbytes
    engine, dtype = unit(a.dtype)
    product = Work(
        "gemm",
        flops=2 * m * n * k,
        read_bytes=(m * k + k * n) * a.itemsize + out,
        write_bytes=out,
        engine=engine,
        dtype=dtype,
        instructions=m * n * k if engine == "vector" else 0,
        dims={
            "b": 1,
            "m": m,
            "n": n,
            "k": k,
            "transa": transposed(a),
            "transb": transposed(b),
            "epilogue": None,
        },
    )
    if op.name.endswith("addbmm_.default") or op.arg("beta", 1) == 0:
        return _in_precision(op, (product,) * batch)
    return _in_precision(op, (copy_onto(op["self"], op.out), *(product,) * batch))


@cost("aten._weight_int8pack_mm.default", "aten._weight_int4pack_mm.default")
def packed_mm(op: Signature) -> tuple[Work, ...]:
    """[m, k] @ [n, k].T with integer weights, multiplied in the dtype of the activation by one
    kernel that loads them packed and converts them in registers."""
    a, b = op["self"], op["mat2"]
    (m, k), n = a.shape, op.out.shape[1]
    packed = a if len(b.shape) > 2 else b
    return gemm(op, a, packed, batch=1, m=m, n=n, k=k, item_bytes=b.nbytes / (n * k))
