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
