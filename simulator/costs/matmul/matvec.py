"""Products of a matrix and a vector, and of two vectors."""

from __future__ import annotations

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import copy_onto, fill_like, pointwise, reduction
from simulator.costs.matmul.products import as_matvec, line_alignment, transposed, unit
from simulator.costs.registry import Work, cost
from simulator.records import Signature


@cost("aten.mv.default", "aten.addmv.default", "aten.addmv_.default", traits=Traits(autocast="low"))
def mv(op: Signature) -> tuple[Work, ...]:
    """[m, k] @ [k]. The product is memory-bound, because each element of the matrix is used once.
    In 16 bits, cuBLAS runs an ordinary product (ATen/cuda/CUDABlas.cpp, gemv<at::Half>)."""
    matrix = op.get("mat") or op["self"]
    m, k = matrix.shape
    out, read = op.out.nbytes, op.read_bytes
    copies: tuple[Work, ...] = ()
    if op.name == "aten.addmv.default":
        addend = op["self"]
        read -= addend.nbytes
        if op.arg("beta", 1) != 0:
            copies = (copy_onto(addend, op.out),)
            read += out
    engine, dtype = unit(matrix.dtype)
    product = Work(
        "gemm" if engine == "tensor" else "gemv",
        flops=2 * m * k,
        read_bytes=read,
        write_bytes=out,
        engine=engine,
        dtype=dtype,
        instructions=m * k if engine == "vector" else 0,
        dims={
            "b": 1,
            "m": m,
            "n": 1,
            "k": k,
            "transa": transposed(matrix),
            "transb": False,
            "epilogue": None,
            "align_bytes": line_alignment(matrix),
        },
    )
    return (*copies, as_matvec(product))


@cost("aten.dot.default", "aten.vdot.default", traits=Traits(autocast="widest"))
def dot(op: Signature) -> tuple[Work, ...]:
    """2n FLOPs; cuBLAS reduces each block, then the sums of at most 128 blocks."""
    n, size, dtype = op["self"].numel, op["self"].itemsize, op["self"].dtype
    if n == 0:
        return (fill_like(op.out),)  # as ATen does without cuBLAS (Blas.cpp, `dot_cuda`)
    blocks = min(128, -(-n // 128))
    return (
        reduction(blocks, -(-n // blocks), op.read_bytes, 4 * blocks, dtype=dtype, flops=2),
        reduction(1, blocks, 4 * blocks, size, dtype=dtype),
    )


@cost("aten.addr.default", "aten.addr_.default", traits=Traits(autocast="low"))
def addr(op: Signature) -> Work:
    """beta * self + vec1 ⊗ vec2, element by element: a product, a scaling and a sum."""
    n = op.out.numel
    return pointwise(n, op.read_bytes, op.out.nbytes, flops=3, inputs=3, dtype=op.out.dtype)
