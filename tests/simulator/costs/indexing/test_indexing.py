"""Indexing ops against hand-computed sums."""

from __future__ import annotations

from typing import Any

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, families, launched, sig

F32, I64 = "float32", "int64"


def embedding(rows: int, index: tuple[int, ...]) -> Work:
    (work,) = launched(
        sig(
            "aten.embedding.default",
            ((*index, 8), F32),
            weight=((rows, 8), F32),
            indices=(index, I64),
        )
    )
    return work


def test_embedding_reads_rows_and_not_the_table() -> None:
    work = embedding(1000, (4, 5))
    # reads 20 rows of 8·4 bytes = 640 and 20·8 = 160 bytes of indices; writes 640
    assert (work.family, work.read_bytes, work.write_bytes) == ("gather", 800, 640)
    # a row of 32 bytes is two whole words, and a block computes a row; the table has 1000·32 bytes
    assert work.dims == {
        "elements": 160,
        "width": 8,
        "table_bytes": 32000,
        "variant": "rows",
        "runs": 20,
    }


def picked(cols: int, rows: int, name: str = "aten.index_select.default") -> dict[str, Any]:
    x, out, i = ((1000, cols), F32), ((rows, cols), F32), ((rows,), I64)
    arguments = {"indices": [i]} if name == "aten.index.Tensor" else {"index": i}
    (work,) = launched(sig(name, out, None, {"dim": 0}, self=x, **arguments))
    return work.dims


def test_which_kernel_gathers() -> None:
    # 17 or more rows are copied in 16-byte words if each row is a whole number of words
    assert picked(8, 17)["variant"] == "rows"
    assert picked(6, 17)["variant"] == "elements"
    few = picked(8, 16)
    assert (few["variant"], few["steps"]) == ("few", 16)
    # one block for each 4 KiB of a row: ceil(1025·16 / 4096) = 5
    assert picked(4100, 20)["runs"] == 100
    # a row of 6·4 bytes fits in one 32-byte sector
    assert picked(6, 20)["runs"] == 20
    assert picked(8, 2, "aten.index.Tensor")["variant"] == "rows"
    assert picked(6, 2, "aten.index.Tensor")["variant"] == "index"
    assert picked(8, 1, "aten.index.Tensor")["variant"] == "index"
    x, out, i = ((1000, 8), F32), ((20, 8), F32), ((20,), I64)
    (rows,) = launched(sig("aten.index_select.default", out, None, {}, self=x, index=i))
    assert rows.dims == picked(8, 20)


def test_a_small_table_bounds_its_read_bytes() -> None:
    # reads 2·8·4 = 64 bytes of rows and 160 of indices
    assert embedding(2, (4, 5)).read_bytes == 224


def index(x: Spec, out: Spec, *indices: Spec, **args: Any) -> tuple[Work, ...]:
    return launched(sig("aten.index.Tensor", out, None, args, self=x, indices=list(indices)))


def test_index_of_rows() -> None:
    (work,) = index(((512, 64), "bfloat16"), ((10, 64), "bfloat16"), ((10,), I64))
    # 10·64·2 + 10·8 = 1,360
    assert (work.read_bytes, work.write_bytes, work.dims["width"]) == (1360, 1280, 64)


def test_index_of_a_later_dimension_has_no_width() -> None:
    extra = {"indices_given": [False, True]}
    (work,) = index(((4, 64), F32), ((4, 10), F32), ((10,), I64), **extra)
    assert work.dims["width"] == 1


def test_a_mask_is_turned_into_indices_first() -> None:
    works = index(((512, 64), F32), ((256, 64), F32), ((512,), "bool"))
    assert families(works) == ["reduction", "memcpy", "fill", "scan", "pointwise", "gather"]
    # the indices of 256 rows, and the rows: 256·8 + 256·64·4 bytes
    assert works[-1].read_bytes == 67584


def test_a_mask_of_two_dimensions_selects_rows_of_the_third() -> None:
    x, mask, rows = ((8, 64, 20), F32), ((8, 64), "bool"), ((256, 20), F32)
    (*_, gather) = index(x, rows, mask)
    assert (gather.dims["width"], gather.dims["variant"]) == (20, "index")
    # two coordinates of 8 bytes for each of 256 rows of 80 bytes
    assert gather.read_bytes == 256 * 16 + 256 * 80
    (grid,) = index(x, ((3, 5, 64, 20), F32), ((3, 5), I64))
    # a single index of two dimensions: 15 slices
    assert (grid.dims["width"], grid.dims["variant"]) == (1280, "rows")
    # two blocks of 4 KiB for a slice of 5,120 bytes
    assert grid.dims["runs"] == 30


def test_nonzero_waits_for_its_count() -> None:
    works = launched(sig("aten.nonzero.default", ((512, 2), I64), self=((512, 2), "bool")))
    assert families(works) == ["reduction", "memcpy", "fill", "scan", "pointwise"]
    assert works[1].dims["direction"] == "d2h"
    large = launched(sig("aten.nonzero.default", ((5000, 2), I64), self=((10000,), "bool")))
    assert families(large)[:2] == ["reduction", "reduction"]


def test_gather_and_scatter() -> None:
    x, i = ((8, 100), F32), ((8, 3), I64)
    (work,) = launched(sig("aten.gather.default", ((8, 3), F32), None, {"dim": 1}, self=x, index=i))
    # 24·4 + 24·8 = 288
    assert (work.read_bytes, work.write_bytes) == (288, 96)
    copy, put = launched(
        sig("aten.scatter.src", x, None, {"dim": 1}, self=x, index=i, src=((8, 3), F32))
    )
    assert (copy.family, copy.bytes) == ("memcpy", 6400)
    assert (put.read_bytes, put.write_bytes) == (288, 96)
    (add,) = launched(
        sig("aten.scatter_add_.default", x, (0, 1, 2, 0), self=x, index=i, src=((8, 3), F32))
    )
    # the destination of the addition is read too
    assert (add.read_bytes, add.write_bytes, add.flops) == (384, 96, 24)


def test_index_add_adds_slices() -> None:
    x = ((512, 1024), "bfloat16")
    (work,) = launched(
        sig(
            "aten.index_add_.default",
            x,
            (0, 1, 2, 0),
            {"dim": 0},
            self=x,
            index=((132,), I64),
            source=((132, 1024), "bfloat16"),
        )
    )
    # 132·8 + 2·132·1024·2 = 541,728 and 270,336
    assert (work.read_bytes, work.write_bytes) == (541728, 270336)
    assert work.dims == {
        "elements": 135168,
        "width": 1024,
        "table_bytes": 2**20,
        "variant": "rows",
        "steps": 0,
        "few": False,
    }


def put(name: str = "aten.index_put_.default", **args: Any) -> tuple[Work, ...]:
    x = ((100, 8), F32)
    return launched(sig(name, x, None, args, self=x, indices=[((5,), I64)], values=((5, 8), F32)))


def test_index_put() -> None:
    (work,) = put()
    # reads 5·8 + 5·8·4 = 200 bytes, writes 160
    assert (work.read_bytes, work.write_bytes) == (200, 160)
    assert families(put("aten.index_put.default")) == ["memcpy", "scatter"]


def test_an_index_of_one_is_repeated_for_each_of_the_others() -> None:
    x, many, one = ((100, 8, 4), F32), ((5,), I64), ((1,), I64)
    (work,) = launched(
        sig("aten.index_put_.default", x, self=x, indices=[many, one], values=((5, 4), F32))
    )
    # 5 slices of 4 elements
    assert (work.write_bytes, work.dims["elements"], work.dims["width"]) == (80, 20, 4)


def test_accumulating_sorts() -> None:
    works = put("aten._index_put_impl_.default", accumulate=True, unsafe=True)
    # wrap, scale, divide, number the positions; a small sort; the sum
    assert families(works) == [*["pointwise"] * 3, "arange", "sort_tile", "scatter"]
    checked = families(put(accumulate=True))
    # the largest and the smallest index are found, compared and asserted
    assert checked == ["reduction", "pointwise", "assertion"] * 2 + families(works)


def test_the_gradient_of_indexing_writes_in_place_and_checks_nothing() -> None:
    gradient = families(put("aten.index_put.default", accumulate=True))
    assert gradient == families(put("aten._index_put_impl_.default", accumulate=True, unsafe=True))


def test_one_value_under_a_mask_is_a_masked_fill() -> None:
    x = ((100, 8), F32)
    op = sig("aten.index_put_.default", x, self=x, indices=[((100, 8), "bool")], values=((), F32))
    (work,) = launched(op)
    # 800 of mask
    assert (work.family, work.read_bytes, work.write_bytes) == ("pointwise", 800, 3200)


def test_masked_select() -> None:
    works = launched(
        sig("aten.masked_select.default", ((50,), F32), self=((100,), F32), mask=((100,), "bool"))
    )
    # 50·4 bytes of values and 50 coordinates of 8 bytes
    assert (works[-1].family, works[-1].read_bytes) == ("gather", 600)


def test_accumulating_with_two_indices_adds_them() -> None:
    x, i = ((512, 2, 1), "bfloat16"), ((123,), I64)
    turned = Tensor((123, 1), "bfloat16", (2, 1))
    args = {"accumulate": True}
    works = launched(
        sig("aten.index_put_.default", x, None, args, self=x, indices=[i, i], values=turned)
    )
    # 2·2 range checks of 3 kernels; 2·2 to wrap and scale, 1 to add; one to put the values side by
    # side; divide, number, sort, add
    assert len(works) == 12 + 4 + 1 + 1 + 4


def test_a_cast_of_stride_is_a_copy_kernel() -> None:
    turned = Tensor((8, 4), F32, (16, 2))
    first, _ = launched(
        sig(
            "aten.index_fill.int_Scalar",
            ((8, 4), F32),
            None,
            {"dim": 0},
            self=turned,
            index=((2,), I64),
        )
    )
    assert first.family == "copy"
