"""Gradients of embedding tables, and embedding bags."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import families, launched, sig

F32, I64 = "float32", "int64"


def embedding_backward(n: int, **args: Any) -> tuple[Work, ...]:
    return launched(
        sig(
            "aten.embedding_dense_backward.default",
            ((1000, 8), F32),
            None,
            args,
            grad_output=((n, 8), F32),
            indices=((n,), I64),
        )
    )


def test_few_gradients_are_added_by_one_kernel() -> None:
    clear, add = embedding_backward(20)
    # 1000·8·4
    assert (clear.family, clear.write_bytes) == ("fill", 32000)
    # 20·8 bytes of indices, 640 of gradients, and 640 of the rows to which it adds
    assert (add.family, add.read_bytes, add.write_bytes) == ("embedding_backward", 1440, 640)
    assert len(embedding_backward(3072)) == 2


def test_many_gradients_are_sorted_first() -> None:
    works = embedding_backward(3073)
    # keys of 64 bits take 8 passes
    passes = [w for w in works if w.dims.get("variant") == "pass"]
    assert len(passes) == 8
    # an index range, a small sort (one kernel), zeros, the selection of each row's first entry
    # (fill, scan), the parts of each row, their starts (fill, scan), two kernels for their total
    # and positions, and two for the sums
    assert families(embedding_backward(20, scale_grad_by_freq=True)) == [
        "arange",
        "sort_tile",
        "fill",
        "fill",
        "scan",
        "pointwise",
        "fill",
        "scan",
        *["pointwise"] * 2,
        *["embedding_backward"] * 2,
    ]


def test_gradients_of_few_rows_are_added_by_atomics_in_float32() -> None:
    def after_sorting(dtype: str) -> list[str]:
        name, grad = "aten.embedding_dense_backward.default", ((5000, 8), dtype)
        op = sig(name, ((100, 8), dtype), grad_output=grad, indices=((5000,), I64))
        kernels = launched(op)
        return [w.dims.get("variant", w.family) for w in kernels[-5:]]

    # 50 look-ups for each of 100 rows: the position of each part (two steps), zeros in float32,
    # atomic sums, the cast
    assert after_sorting("bfloat16") == ["step", "step", "fill", "atomic", "pointwise"]
    assert after_sorting(F32)[-2:] == ["step", "atomic"]


def test_a_gradient_is_summed_in_parts_of_ten() -> None:
    partial, summed = embedding_backward(20, scale_grad_by_freq=True)[-2:]
    # 20 / 10 parts and at most one more for each of 20 rows, but no more than 20 parts, of 8 floats
    # each
    assert partial.dims["parts"] == 20
    assert (partial.read_bytes, partial.write_bytes) == (20 * 8 + 640, 640)
    assert (summed.read_bytes, summed.write_bytes) == (640, 640)


def test_embedding_bag_reads_each_row_and_writes_each_bag() -> None:
    out = ((4, 16), F32)
    (work,) = launched(
        sig(
            "aten._embedding_bag.default",
            [out],
            None,
            {"mode": 0},
            weight=((1000, 16), F32),
            indices=((20,), I64),
            offsets=((4,), I64),
        )
    )
    # reads 20·16·4 + 20·8 + 4·8 = 1,472 bytes and writes 4·16·4 = 256; 320 additions
    assert (work.read_bytes, work.write_bytes, work.flops) == (1472, 256, 320)
    # 5 rows per bag, one after another; 4 bags are far below the limit of 8,192
    assert work.dims["steps"] == 5


@pytest.mark.parametrize(("mode", "sorts"), [(0, True), (1, True), (2, False)])
def test_embedding_bag_backward_sorts_unless_it_is_a_maximum(mode: int, sorts: bool) -> None:
    works = launched(
        sig(
            "aten._embedding_bag_dense_backward.default",
            ((1000, 16), F32),
            None,
            {"mode": mode},
            grad=((4, 16), F32),
            indices=((20,), I64),
        )
    )
    assert ("sort_tile" in families(works)) is sorts


def test_parts_of_a_row_are_listed_one_after_another() -> None:
    works = embedding_backward(40000)
    # 40,000 look-ups of 1,000 rows are 40 each, in 4 parts of 10
    listed = [w.dims["steps"] for w in works if w.dims.get("variant") == "step"]
    assert listed == [0, 0, 4]


def test_gradients_and_indices_with_gaps_are_copied_first() -> None:
    grad, indices = Tensor((20, 8), F32, (32, 1)), Tensor((20,), I64, (8,))
    op = sig(
        "aten.embedding_dense_backward.default",
        ((1000, 8), F32),
        grad_output=grad,
        indices=indices,
    )
    rows, numbers, clear, _ = launched(op)
    # 20·8·4 bytes of rows and 20·8 bytes of numbers
    assert (rows.write_bytes, numbers.write_bytes) == (640, 160)
    assert [w.family for w in (rows, numbers, clear)] == ["copy", "copy", "fill"]


@pytest.mark.parametrize(
    ("stride", "copies"),
    [((4, 1), 0), ((12, 3), 0), ((0, 1), 1), ((1, 2), 1)],
)
def test_expanded_and_turned_indices_are_copied(stride: tuple[int, int], copies: int) -> None:
    indices = Tensor((2, 4), I64, stride)
    op = sig("aten.embedding.default", ((2, 4, 8), F32), weight=((10, 8), F32), indices=indices)
    *copied, gather = launched(op)
    # 2·4 indices of 8 bytes are copied
    assert [w.write_bytes for w in copied] == [64] * copies
    assert gather.family == "gather"
