"""Matrix ops: hand-computed family, FLOPs, bytes and instructions of each kernel."""

from __future__ import annotations

import pytest

from tests.simulator.costs.conftest import launched, sig, sums

F32, I32, I64 = "float32", "int32", "int64"
A = ((2, 6, 6), F32)  # 72 elements, 288 bytes
TALL = ((2, 10, 6), F32)  # 120 elements, 480 bytes
WIDE = ((2, 6, 10), F32)
B = ((2, 6, 5), F32)  # 60 elements, 240 bytes
VALUES, PIVOTS, CODES = ((2, 6), F32), ((2, 6), I32), ((2,), I32)


def test_a_matrix_exponential_is_eight_products_after_norms() -> None:
    norms, wait, *products = launched(sig("aten.linalg_matrix_exp.default", A, self=A))
    assert sums([norms, wait]) == [
        ("reduction", 72, 288, 48, 144),  # a norm for each of 12 rows
        ("memcpy", 0, 8, 0, 0),  # one number per matrix
    ]
    # each product of two matrices has 2·2·6³ FLOPs; then the sum of two products
    assert sums(products) == [("gemm", 864, 576, 288, 0), ("pointwise", 72, 576, 288, 288)] * 8
    assert products[0].dims == {
        "b": 2, "m": 6, "n": 6, "k": 6, "transa": False, "transb": False, "align_bytes": 4,
        "epilogue": None,
    }  # fmt: skip
    assert norms.dims == {"rows": 12, "cols": 6, "inner": 1}
    none = ((0, 6, 6), F32)
    assert launched(sig("aten.linalg_matrix_exp.default", none, self=none)) == ()


def test_factors_are_unpacked_triangle_by_triangle() -> None:
    name = "aten.lu_unpack.default"
    kernels = launched(sig(name, [A, A, A], None, {}, LU_data=A, LU_pivots=PIVOTS))
    triangle = ("pointwise", 72, 288, 288, 216)
    assert sums(kernels) == [
        triangle,
        triangle,
        ("pointwise", 12, 48, 96, 36),  # 12 pivots of 4 bytes to int64
        ("fill", 0, 0, 288, 72),
        ("scatter", 0, 96, 48, 72),  # a one at each of 12 places
    ]
    none = ((0,), F32)
    only = launched(sig(name, [none, A, A], None, {}, LU_data=A, LU_pivots=PIVOTS))
    assert sums(only) == [triangle, triangle]
    assert len(launched(sig(name, [A, none, none], None, {}, LU_data=A, LU_pivots=PIVOTS))) == 3


def test_renormed_slices() -> None:
    x = ((4, 8, 5), F32)  # 160 elements, 640 bytes
    for args, slices, cols in (
        ({"dim": 1}, 8, 20), ({"dim": -1}, 5, 32), ({"dim": 0}, 4, 40), ({}, 4, 40)
    ):  # fmt: skip
        kernels = launched(sig("aten.renorm.default", x, None, args, self=x))
        # squares and sums of 160 elements, a root of each slice
        first, factors, product = sums(kernels)
        assert first == ("reduction", 320 + slices, 640, 4 * slices, 320 + 6 * slices)
        # ten instructions, a load, a store
        assert factors == ("pointwise", slices, 4 * slices, 4 * slices, 12 * slices)
        assert product[:4] == ("pointwise", 160, 640 + 4 * slices, 640)
        assert (kernels[0].dims["rows"], kernels[0].dims["cols"]) == (slices, cols)


def test_a_cross_product_is_three_flops_in_six_slots() -> None:
    x = ((50, 3), F32)
    kernels = launched(sig("aten.linalg_cross.default", x, None, {}, self=x, other=x))
    assert sums(kernels) == [("pointwise", 450, 1200, 600, 150 * 9)]


def test_a_bilinear_layer_by_its_unrolled_dimension() -> None:
    x, w, out = ((16, 8), F32), ((5, 8, 7), F32), ((16, 5), F32)
    y = ((16, 7), F32)
    args = {"expand1": [1, 3], "expand2": [0], "expand3": [1, 2], "sumdim": [2, 3]}
    fill, *slices = launched(sig("aten._trilinear.default", out, None, args, i1=x, i2=w, i3=y))
    assert sums([fill]) == [("fill", 0, 0, 320, 80)]
    # [16, 8]·[8, 7]; the result times y, summed along rows; added to 16 results
    product = ("gemm", 1792, 512 + 224, 448, 896)
    # unrolled along dimension 1 of the result, the first one of W
    assert sums(slices) == [
        product,
        ("reduction", 224, 448 + 448, 64, 336),
        ("pointwise", 16, 128, 64, 64),
    ] * 5  # fmt: skip
    assert slices[1].dims == {"rows": 16, "cols": 7, "inner": 1}
    # unrolled along a dimension that W lacks: a single slice
    for unrolled in ({"unroll_dim": 0}, {"unroll_dim": 1, "expand2": [1]}):
        alone = sig("aten._trilinear.default", out, None, args | unrolled, i1=x, i2=w, i3=y)
        assert len(launched(alone)) == 1 + 3
    assert slices[0].dims == {
        "b": 1, "m": 16, "n": 7, "k": 8, "transa": False, "transb": False, "align_bytes": 4,
        "epilogue": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "outputs", "args", "flops", "steps", "algorithm"),
    [
        ("linalg_cholesky_ex", [A, CODES], {}, 72, 6, "cholesky"),  # 6³/3
        ("cholesky_inverse", [A], {}, 144, 6, "cholesky"),  # twice that
        ("linalg_lu_factor_ex", [A, PIVOTS, CODES], {}, 144, 6, "lu"),  # 2/3·6³
        ("linalg_ldl_factor_ex", [A, PIVOTS, CODES], {}, 72, 6, "lu"),
        ("_linalg_det", [CODES, A, PIVOTS], {}, 144, 6, "lu"),
        ("linalg_inv_ex", [A, CODES], {}, 576, 18, "inverse"),  # 144 and 2·6³
        # the matrices of a batch are reflected one after another: 2 of 6 columns, and again for Q
        ("linalg_qr", [A, A], {"mode": "complete"}, 576, 24, "qr"),
        ("linalg_qr", [A, A], {"mode": "r"}, 288, 12, "qr"),  # 2·6³ − 2/3·6³
        ("linalg_householder_product", [A], {}, 288, 12, "qr"),
        # up to 32 columns, one kernel rotates the whole batch
        ("_linalg_svd", [A, VALUES, A], {}, 2592, 6, "svd"),  # 12·6³
        ("_linalg_svd", [A, VALUES, A], {"compute_uv": False}, 576, 6, "singular_values"),  # 8/3
        ("_linalg_eigh", [VALUES, A], {}, 1944, 6, "eigh"),  # 9·6³
        ("_linalg_eigh", [VALUES, A], {"compute_v": False}, 288, 6, "eigenvalues"),  # 4/3·6³
        ("linalg_eig", [VALUES, A], {}, 5400, 6, "eig"),  # 25·6³
        ("_linalg_eigvals", [VALUES], {}, 2160, 6, "eig"),  # 10·6³
    ],
)
def test_factorizations_of_two_matrices(
    name: str, outputs: list[object], args: dict[str, object], flops: int, steps: int,
    algorithm: str,
) -> None:  # fmt: skip
    op = sig(f"aten.{name}.default", outputs, None, args, A=A)  # pyright: ignore
    copied, work, *_ = launched(op)
    written = sum(t.numel * t.itemsize for t in op.outputs)
    # a copy with adjacent column elements, then the algorithm; a multiply-add is one instruction
    assert sums([copied])[0][:4] == ("copy", 0, 288, 288)
    assert sums([work]) == [("factorization", 2 * flops, 288, written, flops)]
    assert {k: work.dims[k] for k in ("algorithm", "batch", "side", "long", "steps")} == {
        "algorithm": algorithm, "batch": 2, "side": 6, "long": 6, "steps": steps,
    }  # fmt: skip
    assert work.dims["variant"] == (
        "direct" if algorithm in ("cholesky", "lu", "inverse") else "orthogonal"
    )


def test_a_determinant_is_a_diagonal_and_a_parity_after_the_factors() -> None:
    *_, work, diagonal, parity = launched(
        sig("aten._linalg_det.default", [CODES, A, PIVOTS], None, {}, A=A)
    )
    assert work.dims["algorithm"] == "lu"
    # each reads the six diagonal elements of two matrices
    assert sums([diagonal, parity]) == [("reduction", 12, 48, 8, 24)] * 2
    assert diagonal.dims == {"rows": 2, "cols": 6, "inner": 1}


def test_a_factor_of_cholesky_is_cleared_above_its_diagonal() -> None:
    *_, triangle = launched(sig("aten.linalg_cholesky_ex.default", [A, CODES], None, {}, self=A))
    assert sums([triangle]) == [("pointwise", 72, 288, 288, 216)]


@pytest.mark.parametrize(
    ("shape", "lu", "qr", "svd", "steps"),
    [
        # (10, 6): 2·(360 − 16·18 + 72) = 288 for R; 2·10·36 − 144 = 576 with Q; 4·10·36 + 8·216 =
        # 3,168 for the singular values
        (TALL, 288, 576, 3168, 6),
        (WIDE, 288, 576, 3168, 6),
    ],
)
def test_a_rectangle_has_the_steps_of_its_shorter_side(
    shape: tuple[tuple[int, ...], str], lu: int, qr: int, svd: int, steps: int
) -> None:
    for name, flops, count in (
        ("linalg_lu_factor_ex", lu, steps),
        ("geqrf", qr, 2 * steps),
        ("_linalg_svd", svd, steps),
    ):
        _, work = launched(sig(f"aten.{name}.default", [shape], None, {}, A=shape))
        assert (work.flops, work.dims["steps"]) == (2 * flops, count)
        assert (work.dims["side"], work.dims["long"]) == (shape[0][2], shape[0][1])


def test_large_matrices_of_a_batch_are_rotated_in_turn() -> None:
    for side, steps in ((32, 32), (33, 3 * 33)):
        x = ((3, side, side), F32)
        _, work = launched(sig("aten._linalg_eigh.default", [x], None, {}, A=x))
        assert work.dims["steps"] == steps
        _, direct = launched(sig("aten.linalg_lu_factor_ex.default", [x], None, {}, A=x))
        assert direct.dims["steps"] == side


def test_a_solve_copies_both_sides() -> None:
    vector = ((2, 6), F32)
    name = "aten._linalg_solve_ex.default"
    for b, columns in ((B, 5), (vector, 1)):
        *copies, work = launched(sig(name, [b, A, PIVOTS, CODES], None, {}, A=A, B=b))
        assert [one.write_bytes for one in copies] == [288, 48 * columns]
        # 2/3·6³ = 144 to factor and 2·6²·columns to solve, for two matrices
        assert (work.flops, work.dims["columns"]) == (2 * (144 + 72 * columns), columns)
        assert (work.dims["variant"], work.dims["steps"]) == ("direct", 18)


@pytest.mark.parametrize(
    ("name", "inputs", "algorithm", "times"),
    [
        ("linalg_solve_triangular", {"self": A, "B": B}, "triangular", 1),
        ("triangular_solve", {"self": B, "A": A}, "triangular", 1),
        ("cholesky_solve", {"self": B, "input2": A}, "cholesky_solve", 2),
        ("linalg_lu_solve", {"LU": A, "pivots": PIVOTS, "B": B}, "lu_solve", 2),
        ("linalg_ldl_solve", {"LD": A, "pivots": PIVOTS, "B": B}, "lu_solve", 2),
    ],
)
def test_solves_by_factors(
    name: str, inputs: dict[str, tuple[tuple[int, ...], str]], algorithm: str, times: int
) -> None:
    copied, work = launched(sig(f"aten.{name}.default", [B], None, {}, **inputs))
    # 240 bytes of B; each triangular solve has 6²·5 multiply-adds, for two matrices
    assert copied.write_bytes == 240
    assert (work.flops, work.instructions) == (360 * times, 180 * times)
    assert work.dims["variant"] == "triangular"
    assert {k: work.dims[k] for k in ("algorithm", "batch", "side", "columns", "steps")} == {
        "algorithm": algorithm, "batch": 2, "side": 6, "columns": 5, "steps": 6 * times,
    }  # fmt: skip


def test_a_pseudoinverse_is_a_decomposition_and_a_product() -> None:
    name = "aten.linalg_pinv.atol_rtol_tensor"
    for args, x, flops in (
        ({}, TALL, 3168 + 720),  # the singular values and vectors above, and 2·10·6²
        ({}, WIDE, 3168 + 720),
        ({"hermitian": True}, A, 1944 + 432),
    ):
        _, work = launched(sig(name, WIDE, None, args, self=x))
        assert (work.flops, work.dims["algorithm"]) == (2 * flops, "pseudoinverse")
        assert (work.dims["steps"], work.dims["columns"]) == (6, 6)


def test_least_squares_reflect_both_sides() -> None:
    b = ((2, 10, 3), F32)
    *copies, work = launched(sig("aten.linalg_lstsq.default", [B], None, {}, self=TALL, B=b))
    assert [one.write_bytes for one in copies] == [480, 240]
    # 576 FLOPs for the reflections, and 4·10·6·3 to apply them to B; 2·6 steps, for one matrix
    # after another
    assert (work.flops, work.dims["steps"], work.dims["columns"]) == (2 * (576 + 720), 24, 3)


def test_codes_are_found_by_name_or_first() -> None:
    for inputs in ({"info": CODES}, {"LU": A, "info": CODES}, {"codes": CODES}):
        kernels = launched(sig("aten._linalg_check_errors.default", (), None, {}, **inputs))
        assert sums(kernels) == [("reduction", 2, 8, 1, 4), ("memcpy", 0, 1, 0, 0)]


def test_a_single_matrix_is_copied_as_columns_too() -> None:
    one, four = ((6, 4), F32), ((2, 3, 6, 4), F32)
    for x, batch in ((one, 1), (four, 6)):
        copied, work = launched(sig("aten.linalg_lu_factor_ex.default", [x], None, {}, A=x))
        assert copied.dims["transposed"]
        assert copied.write_bytes == 96 * batch
        assert (work.dims["batch"], work.dims["side"], work.dims["long"]) == (batch, 4, 6)
