"""Linear algebra as cuSOLVER and cuBLAS run it: factorizations, and solves by their factors.

A blocked algorithm processes its columns serially in `steps`; the rest of its work is products.
FLOPs are those of LAPACK Working Note 41 and, for singular value and eigenvalue decompositions, of
Golub and Van Loan, "Matrix Computations" (2013), figures 8.6.1 and 8.3. All launches of one
algorithm (possibly thousands, of a few microseconds each) are a single `Work` of family
"factorization".
"""

from __future__ import annotations

from math import prod

from simulator.costs.kernels.launches import pointwise, reduction, to_host, vector_dtype
from simulator.costs.movement.copies import move
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor


def batched_shape(x: Tensor) -> tuple[int, int, int]:
    """Batch, rows and columns."""
    return prod(x.shape[:-2]), x.shape[-2], x.shape[-1]


_DIRECT = ("cholesky", "lu", "solve", "inverse")
_TRIANGULAR = ("triangular", "cholesky_solve", "lu_solve")
_WARP = 32
"""Largest matrix side for which one kernel applies Jacobi rotations to a whole batch."""


def _algorithm(
    name: str, op: Signature, x: Tensor, flops: float, steps: int, columns: int = 1
) -> tuple[Work, ...]:
    """One algorithm over a batch: `flops` and serial `steps` per matrix. cuSOLVER applies
    Householder reflections to the matrices of a batch one after another, and also Jacobi rotations
    to large matrices."""
    batch, rows, side = batched_shape(x)
    if not prod(x.shape):
        return ()
    direct = name in _DIRECT
    kind = "direct" if direct else "triangular" if name in _TRIANGULAR else "orthogonal"
    in_turn = kind == "orthogonal" and (name == "qr" or side > _WARP)
    total_flops = round(flops) * batch
    dims = {
        "variant": kind,
        "algorithm": name,
        "batch": batch,
        "side": side,
        "long": rows,
        "columns": columns,
        "steps": steps * (batch if in_turn else 1),
    }
    write = sum(t.numel * t.itemsize for t in op.outputs)
    return (
        Work(
            "factorization",
            total_flops,
            op.read_bytes,
            write,
            dtype=vector_dtype(x.dtype),
            instructions=total_flops // 2,
            dims=dims,
        ),
    )


def _column_major_copy(x: Tensor) -> tuple[Work, ...]:
    """The column-major copy that LAPACK requires and overwrites."""
    (*outer, rows, side) = x.shape
    steps = [rows * side] * len(outer)
    for i in range(len(outer) - 2, -1, -1):
        steps[i] = steps[i + 1] * outer[i + 1]
    return move(x, Tensor(x.shape, x.dtype, (*steps, 1, rows)))


@cost("aten._linalg_check_errors.default", waits=True, data_dependent=True)
def check_errors(op: Signature) -> tuple[Work, ...]:
    """Test for a nonzero error code; the host waits for the result."""
    codes = op["info"] if "info" in op.names else op.inputs[0]
    return reduction(1, codes.numel, codes.nbytes, 1), to_host(1)


@cost(
    "aten.linalg_cholesky_ex.default",
    "aten.linalg_cholesky_ex.L",
    "aten.cholesky.default",
    "aten.cholesky_inverse.default",
)
def cholesky(op: Signature) -> tuple[Work, ...]:
    """n³/3 FLOPs, or 2/3·n³ for an inverse from the factor."""
    x = op.inputs[0]
    n = x.shape[-1]
    flops = n**3 / 3 * (2 if "inverse" in op.name else 1)
    triangle = pointwise(x.numel, x.nbytes, x.numel * x.itemsize)
    return *_column_major_copy(x), *_algorithm("cholesky", op, x, flops, n), triangle


@cost(
    "aten.linalg_lu_factor_ex.default",
    "aten.linalg_lu_factor_ex.out",
    "aten.linalg_lu_factor.default",
    "aten.linalg_lu.default",
    "aten.linalg_ldl_factor_ex.default",
)
def lu(op: Signature) -> tuple[Work, ...]:
    """m·n·k − (m + n)·k²/2 + k³/3 multiply-adds, where k is the shorter side; half as many if the
    matrix is symmetric."""
    return *_column_major_copy(op.inputs[0]), *_lu(op, op.inputs[0])


def _lu(op: Signature, x: Tensor) -> tuple[Work, ...]:
    m, n = x.shape[-2:]
    k = min(m, n)
    flops = 2 * (m * n * k - (m + n) * k**2 / 2 + k**3 / 3) / (2 if "ldl" in op.name else 1)
    return _algorithm("lu", op, x, flops, k)


@cost(
    "aten._linalg_det.default",
    "aten._linalg_slogdet.default",
    "aten._linalg_det.result",
    "aten._linalg_slogdet.sign",
)
def determinant(op: Signature) -> tuple[Work, ...]:
    """The product of the factors' diagonal, and the parity of the pivots."""
    x = op.inputs[0]
    batch, n, _ = batched_shape(x)
    diagonal = reduction(batch, n, batch * n * x.itemsize, batch * x.itemsize)
    return *_column_major_copy(x), *_lu(op, x), diagonal, diagonal


@cost("aten._linalg_solve_ex.default", "aten._linalg_solve_ex.result")
def solve(op: Signature) -> tuple[Work, ...]:
    """Factorize A, then solve both triangles for each column of B."""
    a, b = op["A"], _columns(op["A"], op["B"])
    n, columns = a.shape[-1], b.shape[-1]
    flops = 2 / 3 * n**3 + 2 * n**2 * columns
    return (
        *_column_major_copy(a),
        *_column_major_copy(b),
        *_algorithm("solve", op, a, flops, 3 * n, columns),
    )


@cost("aten.linalg_inv_ex.default", "aten.linalg_inv_ex.inverse")
def inverse(op: Signature) -> tuple[Work, ...]:
    """Solve A X = 1 (ATen/native/BatchLinearAlgebra.cpp, `linalg_inv_ex_out`)."""
    a = op.inputs[0]
    n = a.shape[-1]
    return *_column_major_copy(a), *_algorithm("inverse", op, a, (2 / 3 + 2) * n**3, 3 * n, n)


@cost("aten.linalg_lu_solve.default", "aten.linalg_ldl_solve.default")
def lu_solve(op: Signature) -> tuple[Work, ...]:
    """Solve both triangles for each column of B."""
    a, b = op.inputs[0], op["B"]
    return *_column_major_copy(b), *_by_factors("lu_solve", op, a, b, 2)


@cost(
    "aten.linalg_solve_triangular.default",
    "aten.linalg_solve_triangular.out",
    "aten.triangular_solve.default",
    "aten.cholesky_solve.default",
    "aten._cholesky_solve_helper.default",
)
def triangular(op: Signature) -> tuple[Work, ...]:
    """Solve one triangle, or a Cholesky factor and its transpose, for each column of B."""
    a, b = op.inputs[:2] if "B" in op.names else op.inputs[1::-1]
    times = 2 if "cholesky" in op.name else 1
    name = "cholesky_solve" if times == 2 else "triangular"
    return *_column_major_copy(b), *_by_factors(name, op, a, b, times)


def _columns(a: Tensor, b: Tensor) -> Tensor:
    """B as [..., n, columns]: a vector per matrix becomes one column."""
    if len(b.shape) >= 2 and len(b.shape) == len(a.shape):
        return b
    return Tensor((*b.shape, 1), b.dtype, (*b.stride, 1), b.device)


def _by_factors(name: str, op: Signature, a: Tensor, b: Tensor, times: int) -> tuple[Work, ...]:
    n, columns = a.shape[-1], _columns(a, b).shape[-1]
    return _algorithm(name, op, a, times * n**2 * columns, times * n, columns)


@cost(
    "aten.linalg_qr.default",
    "aten.linalg_qr.out",
    "aten.geqrf.default",
    "aten.linalg_householder_product.default",
    "aten.orgqr.default",
    "aten.ormqr.default",
)
def qr(op: Signature) -> tuple[Work, ...]:
    """2·m·k² − 2/3·k³ FLOPs of the reflections, and as many to form Q."""
    x = op.inputs[0]
    m, n = x.shape[-2:]
    k = min(m, n)
    forms_q = "linalg_qr" in op.name and op.arg("mode", "reduced") != "r"
    flops = 2 * max(m, n) * k**2 - 2 / 3 * k**3
    return *_column_major_copy(x), *_algorithm(
        "qr", op, x, flops * (1 + forms_q), k * (1 + forms_q)
    )


@cost("aten._linalg_svd.default", waits=True)
@cost("aten._linalg_svd.U")
def svd(op: Signature) -> tuple[Work, ...]:
    """4·m·n² + 8·n³ FLOPs for values and vectors, or 4·m·n² − 4/3·n³ for values only."""
    return *_column_major_copy(op.inputs[0]), *_svd(
        op, op.inputs[0], bool(op.arg("compute_uv", True))
    )


def _svd(op: Signature, x: Tensor, vectors: bool) -> tuple[Work, ...]:
    long, short = max(x.shape[-2:]), min(x.shape[-2:])
    flops = 4 * long * short**2 + (8 if vectors else -4 / 3) * short**3
    return _algorithm("svd" if vectors else "singular_values", op, x, flops, short)


@cost("aten.linalg_pinv.atol_rtol_tensor", waits=True, data_dependent=True)
@cost("aten.linalg_pinv.atol_rtol_tensor_out")
def pseudoinverse(op: Signature) -> tuple[Work, ...]:
    """Singular values and vectors above the tolerance, and one product; with `hermitian`,
    eigenvalues and eigenvectors instead."""
    x = op.inputs[0]
    long, short = max(x.shape[-2:]), min(x.shape[-2:])
    hermitian = bool(op.arg("hermitian", False))
    flops = 9 * short**3 if hermitian else 4 * long * short**2 + 8 * short**3
    flops += 2 * long * short**2
    return *_column_major_copy(x), *_algorithm("pseudoinverse", op, x, flops, short, short)


@cost("aten._linalg_eigh.default", waits=True)
@cost("aten._linalg_eigh.eigenvalues")
def eigh(op: Signature) -> tuple[Work, ...]:
    """9·n³ FLOPs for eigenvalues and vectors of a symmetric matrix, or 4/3·n³ for values only."""
    x = op.inputs[0]
    return *_column_major_copy(x), *_eigh(op, x, bool(op.arg("compute_v", True)))


def _eigh(op: Signature, x: Tensor, vectors: bool) -> tuple[Work, ...]:
    n = x.shape[-1]
    name = "eigh" if vectors else "eigenvalues"
    return _algorithm(name, op, x, (9 if vectors else 4 / 3) * n**3, n)


@cost("aten.linalg_eig.default", "aten._linalg_eigvals.default")
def eig(op: Signature) -> tuple[Work, ...]:
    """25·n³ FLOPs for eigenvalues and vectors of a general matrix, or 10·n³ for values only."""
    x = op.inputs[0]
    vectors = "eigvals" not in op.name
    return *_column_major_copy(x), *_algorithm(
        "eig", op, x, (25 if vectors else 10) * x.shape[-1] ** 3, x.shape[-1]
    )


@cost("aten.linalg_lstsq.default", waits=True, data_dependent=True)
@cost("aten.linalg_lstsq.out")
def least_squares(op: Signature) -> tuple[Work, ...]:
    """Reflections of A applied to B, and one triangular solve."""
    a, b = op.inputs[0], _columns(op.inputs[0], op.inputs[1])
    m, n = a.shape[-2:]
    k, columns = min(m, n), b.shape[-1]
    flops = 2 * max(m, n) * k**2 - 2 / 3 * k**3 + 4 * m * k * columns
    return (
        *_column_major_copy(a),
        *_column_major_copy(b),
        *_algorithm("qr", op, a, flops, 2 * k, columns),
    )
