"""Layouts of the operands of a product: which are copied, which are transposed, their lines."""

from __future__ import annotations

import pytest

from simulator.costs.matmul.products import line_alignment, transposed
from simulator.records import Tensor
from tests.simulator.costs.conftest import families, launched, sig


def matrix(shape: tuple[int, ...], stride: tuple[int, ...], dtype: str = "float16") -> Tensor:
    return Tensor(shape, dtype, stride)


@pytest.mark.parametrize(
    ("shape", "stride", "is_copied"),
    [
        ((8, 6), (6, 1), False), ((8, 6), (1, 8), False), ((8, 6), (10, 1), False),
        ((8, 6), (1, 10), False),
        # neither dimension is packed, or rows or columns overlap
        ((8, 6), (12, 2), True), ((8, 6), (2, 16), True), ((8, 6), (5, 1), True),
        ((8, 6), (1, 7), True), ((8, 6), (0, 1), True), ((8, 6), (1, 0), True),
        # one row or one column has any stride; two of them need one that is packed
        ((1, 6), (12, 2), False), ((8, 1), (2, 7), False), ((2, 6), (12, 2), True),
        ((8, 2), (2, 16), True), ((1, 6), (0, 0), False),
    ],
)  # fmt: skip
def test_an_operand_that_cublas_does_not_accept_is_copied(
    shape: tuple[int, ...], stride: tuple[int, ...], is_copied: bool
) -> None:
    rows, depth = shape
    left, right = matrix(shape, stride), ((depth, 4), "float16")
    kernels = launched(sig("aten.mm.default", ((rows, 4), "float16"), self=left, mat2=right))
    assert families(kernels) == ["copy", "gemm"][not is_copied :]
    turned = matrix(shape[::-1], stride[::-1])
    second = launched(
        sig("aten.mm.default", ((4, rows), "float16"), self=((4, depth), "float16"), mat2=turned)
    )
    assert families(second) == families(kernels)
    if is_copied:
        # each element is written once, in 2 bytes
        assert kernels[0].write_bytes == second[0].write_bytes == 2 * rows * depth


def test_an_empty_operand_is_not_copied() -> None:
    """As in the gradient of a Cholesky factorization of no matrices."""
    empty = matrix((0, 3, 3), (18, 6, 2))
    kernels = launched(
        sig("aten.bmm.default", ((0, 3, 3), "float16"), self=empty, mat2=((0, 3, 3), "float16"))
    )
    assert families(kernels) == ["gemm"]


@pytest.mark.parametrize(
    ("shape", "stride", "expected"),
    [
        ((8, 6), (6, 1), False), ((8, 6), (1, 8), True), ((8, 6), (10, 1), False),
        ((8, 6), (1, 10), True), ((8, 1), (1, 8), False), ((1, 6), (1, 1), False),
        ((1, 6), (1, 4), False), ((3, 8, 6), (48, 1, 8), True), ((8, 6), (1, 1), False),
        ((8, 6), (2, 16), False),
    ],
)  # fmt: skip
def test_a_transposed_matrix_is_column_major(
    shape: tuple[int, ...], stride: tuple[int, ...], expected: bool
) -> None:
    assert transposed(matrix(shape, stride)) is expected


@pytest.mark.parametrize(
    ("shape", "stride", "align"),
    [
        # lines of 6 numbers are 12 bytes apart, of 10 numbers 20 bytes, of 8 numbers 16 bytes
        ((8, 6), (6, 1), 4), ((8, 6), (10, 1), 4), ((8, 6), (8, 1), 16), ((8, 6), (1, 8), 16),
        ((8, 7), (7, 1), 2), ((8, 32), (32, 1), 16), ((8, 12), (12, 1), 8),
        # a single line has the length of the last dimension
        ((1, 6), (6, 1), 4), ((1, 8), (3, 1), 16), ((6, 1), (1, 1), 2),
        ((8, 6), (24, 6), 4),
    ],
)  # fmt: skip
def test_the_alignment_of_lines(
    shape: tuple[int, ...], stride: tuple[int, ...], align: int
) -> None:
    assert line_alignment(matrix(shape, stride)) == align


@pytest.mark.parametrize(
    ("m", "n", "k", "align"),
    [
        (8, 8, 8, 16), (8, 8, 6, 4), (8, 7, 8, 2), (8, 12, 8, 8), (8, 8, 12, 8),
        # the product of a matrix and a vector: lines of [m, k], and columns of k and of m numbers
        (64, 1, 8, 16), (64, 1, 6, 4), (12, 1, 8, 8), (8, 1, 12, 8), (7, 1, 8, 2),
        # an outer product writes lines of one number
        (64, 1, 1, 2),
    ],
)  # fmt: skip
def test_the_alignment_of_a_product(m: int, n: int, k: int, align: int) -> None:
    a, b, out = ((m, k), "float16"), ((k, n), "float16"), ((m, n), "float16")
    (work,) = launched(sig("aten.mm.default", out, self=a, mat2=b))
    assert work.dims["align_bytes"] == align


def test_equal_groups_are_a_batch() -> None:
    left, right, out = (
        ((4, 100, 16), "bfloat16"),
        ((4, 16, 8), "bfloat16"),
        ((4, 100, 8), "bfloat16"),
    )
    (product,) = launched(sig("aten._grouped_mm.default", out, self=left, mat2=right))
    assert {side: product.dims[side] for side in "bmnk"} == {"b": 4, "m": 100, "n": 8, "k": 16}
    assert product.flops == 2 * 4 * 100 * 8 * 16
    assert "groups" not in product.dims


def test_the_weights_of_groups_of_rows_or_of_columns_are_read_if_they_have_any() -> None:
    ends = ((32,), "int32")
    few, weights = ((4, 16), "bfloat16"), ((32, 16, 8), "bfloat16")
    rows = sig("aten._grouped_mm.default", ((4, 8), "bfloat16"), self=few, mat2=weights, offs=ends)
    turned, tall = ((16, 4), "bfloat16"), ((32, 8, 16), "bfloat16")
    columns = sig(
        "aten._grouped_mm.default", ((8, 4), "bfloat16"), self=tall, mat2=turned, offs=ends
    )
    deep = sig(
        "aten._grouped_mm.default", ((32, 4, 8), "bfloat16"), self=((4, 100), "bfloat16"),
        mat2=((100, 8), "bfloat16"), offs=ends,
    )  # fmt: skip
    splits = {"rows": rows, "columns": columns, "depth": deep}
    for split, op in splits.items():
        setup, product = launched(op)
        assert (product.dims["split"], product.dims["groups"]) == (split, 32)
        # for each of 32 groups: its end of 4 bytes, and 3 pointers, a problem and 3 strides
        assert (setup.read_bytes, setup.write_bytes) == (128, 32 * (3 * 8 + 3 * 4 + 3 * 8))
        assert setup.dims["elements"] == 32
        # 4 rows fall into 3.8165 of 32 groups, each of 256 bytes: 7,215 of 8,192 are not read
        assert product.read_bytes == (800 + 1600 + 128 if split == "depth" else 128 + 128 + 977)
    fused = sig("aten._grouped_mm.default", ((4, 8), "bfloat16"), None, {"fused": True}, self=few,
                mat2=weights, offs=ends)  # fmt: skip
    (product,) = launched(fused)
    assert product.dims["fused"] is True
