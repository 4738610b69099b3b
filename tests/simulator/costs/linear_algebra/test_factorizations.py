"""Linear algebra against LAPACK's operation counts."""

from __future__ import annotations

import pytest

from simulator.costs import Work
from tests.simulator.costs.conftest import launched, sig

A = ((4, 60, 60), "float32")
B = ((4, 60, 5), "float32")
CODES = ((4,), "int32")


def algorithms(works: tuple[Work, ...]) -> list[tuple[str, int, int]]:
    return [
        (w.dims["algorithm"], w.flops, w.dims["steps"])
        for w in works
        if w.family == "factorization"
    ]


@pytest.mark.parametrize(
    "name, outputs, expected",
    [
        # 60³/3 = 72,000 FLOPs for each of four matrices
        ("linalg_cholesky_ex", [A, CODES], [("cholesky", 288000, 60)]),
        # 2/3·60³ = 144,000
        ("linalg_lu_factor_ex", [A, ((4, 60), "int32"), CODES], [("lu", 576000, 60)]),
        # 2·60³ − 2/3·60³ = 288,000 for R, and the same for Q
        ("linalg_qr", [A, A], [("qr", 2304000, 480)]),
        # (4 + 8)·60³ = 2,592,000
        ("_linalg_svd", [A, ((4, 60), "float32"), A], [("svd", 10368000, 240)]),
        # 9·60³ = 1,944,000
        ("_linalg_eigh", [((4, 60), "float32"), A], [("eigh", 7776000, 240)]),
        # 144,000 for the factorization, and two triangular solves of 60²·60
        ("linalg_inv_ex", [A, CODES], [("inverse", 2304000, 180)]),
    ],
)
def test_flops_are_lapacks(name: str, outputs: list[object], expected: list[object]) -> None:
    kernels = launched(sig(f"aten.{name}.default", outputs, None, {}, A=A))  # pyright: ignore
    assert algorithms(kernels) == expected


def test_solving_goes_through_both_triangles_for_each_column() -> None:
    pivots = ((4, 60), "int32")
    kernels = launched(
        sig("aten._linalg_solve_ex.default", [B, A, pivots, CODES], None, {}, A=A, B=B)
    )
    # 144,000 for the factorization and 2·60²·5 = 36,000 for the solves, for each of four matrices
    assert algorithms(kernels) == [("solve", 720000, 180)]
    (_, one) = launched(sig("aten.linalg_solve_triangular.default", B, None, {}, self=A, B=B))
    assert (one.dims["algorithm"], one.flops) == ("triangular", 72000)


def test_a_tall_matrix_counts_its_longer_side_once() -> None:
    tall = ((1, 200, 50), "float32")
    args = {"mode": "r"}
    (_, work) = launched(sig("aten.linalg_qr.default", [tall, tall], None, args, A=tall))
    # 2·200·50² − 2/3·50³ = 916,667 FLOPs
    assert work.flops == 916667


def test_error_codes_are_waited_for() -> None:
    check, fetch = launched(sig("aten._linalg_check_errors.default", (), None, {}, info=CODES))
    assert (check.read_bytes, fetch.dims["direction"]) == (16, "d2h")


def test_an_empty_batch_launches_no_algorithm() -> None:
    none = ((0, 60, 60), "float32")
    kernels = launched(
        sig("aten._linalg_eigh.default", [((0, 60), "float32"), none], None, {}, A=none)
    )
    assert algorithms(kernels) == []


@pytest.mark.parametrize("shape", [(50, 10, 6), (50, 6, 10), (7, 50, 10, 6)])
def test_the_sides_of_a_matrix_are_those_of_its_last_two_dimensions(shape: tuple[int, ...]) -> None:
    x, batch = (shape, "float32"), shape[0] if len(shape) == 3 else 350
    # 4·10·6² + 8·6³ = 3,168 FLOPs for singular values and vectors, 4·10·6² − 4/3·6³ = 1,152 for
    # values; 2·10·6² = 720 for a product
    (svd,) = algorithms(launched(sig("aten._linalg_svd.default", [x], None, {}, A=x)))
    assert svd == ("svd", batch * 3168, 6)
    values = sig("aten._linalg_svd.default", [x], None, {"compute_uv": False}, A=x)
    assert algorithms(launched(values)) == [("singular_values", batch * 1152, 6)]
    inverse = sig("aten.linalg_pinv.atol_rtol_tensor", x, None, {}, self=x)
    assert algorithms(launched(inverse)) == [("pseudoinverse", batch * (3168 + 720), 6)]
    symmetric = sig("aten.linalg_pinv.atol_rtol_tensor", x, None, {"hermitian": True}, self=x)
    # 9·6³ = 1,944 for eigenvalues and vectors
    assert algorithms(launched(symmetric)) == [("pseudoinverse", batch * (1944 + 720), 6)]


def test_the_columns_of_an_algorithm_are_those_of_the_right_hand_side() -> None:
    def columns(name: str, out: object, **inputs: object) -> list[int]:
        works = launched(sig(f"aten.{name}", out, None, {}, **inputs))  # pyright: ignore
        return [w.dims["columns"] for w in works if w.family == "factorization"]

    assert columns("linalg_cholesky_ex.default", [A, CODES], self=A) == [1]
    assert columns("_linalg_eigh.default", [A], A=A) == [1]
    assert columns("linalg_solve_triangular.default", B, self=A, B=B) == [5]
    assert columns("_linalg_solve_ex.default", [B, A], A=A, B=B) == [5]
    vector = ((4, 60), "float32")
    assert columns("_linalg_solve_ex.default", [vector, A], A=A, B=vector) == [1]
    assert columns("linalg_pinv.atol_rtol_tensor", A, self=A) == [60]


def test_matrices_of_several_batches_are_copied_to_columns() -> None:
    x = ((2, 3, 5, 60, 40), "float32")
    copied, _ = launched(sig("aten._linalg_svd.default", [x], None, {}, A=x))
    # the batches stay adjacent: two axes of a matrix and one of 30 matrices
    assert (copied.dims["axes"], copied.dims["transposed"]) == (3, True)
    assert (copied.read_bytes, copied.write_bytes) == (288000, 288000)
