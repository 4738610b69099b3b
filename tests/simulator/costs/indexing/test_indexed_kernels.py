"""Gathers and scatters, kernel by kernel, against hand-computed figures."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs.kernels.radix import radix_sort
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, launched, sig, sums

F32, I64 = "float32", "int64"
TABLE, ROWS = ((100, 6), F32), ((20,), I64)  # 2,400 bytes; 160 bytes


def test_selected_rows_of_a_later_dimension_are_single_elements() -> None:
    x, out = ((30, 100), F32), ((30, 20), F32)
    (work,) = launched(sig("aten.index_select.default", out, None, {"dim": 1}, self=x, index=ROWS))
    # 600 elements of 4 bytes and 160 bytes of indices
    assert sums([work]) == [("gather", 0, 2560, 2400, 3600)]
    assert work.dims == {
        "elements": 600, "width": 1, "table_bytes": 12000, "variant": "elements", "runs": 600,
    }  # fmt: skip
    (last,) = launched(sig("aten.index_select.default", out, None, {"dim": -1}, self=x, index=ROWS))
    assert last == work
    (few,) = launched(
        sig("aten.index_select.default", ((30, 16), F32), None, {"dim": 1}, self=x,
            index=((16,), I64))
    )  # fmt: skip
    assert (few.dims["variant"], few.dims["steps"]) == ("few", 16)


def test_a_gather_reads_sectors_that_neighbours_share() -> None:
    x, index = ((100, 6), F32), ((100, 3), I64)
    dim = {"dim": 1}
    (work,) = launched(sig("aten.gather.default", ((100, 3), F32), None, dim, self=x, index=index))
    assert sums([work]) == [("gather", 0, 1200 + 2400, 1200, 1800)]
    assert (work.dims["runs"], work.dims["width"]) == (300, 1)
    # the 24 bytes of a row share a sector
    (rows,) = launched(
        sig("aten.index.Tensor", ((20, 6), F32), None, {}, self=TABLE, indices=[ROWS])
    )
    assert sums([rows]) == [("gather", 0, 480 + 160, 480, 720)]
    assert (rows.dims["runs"], rows.dims["variant"]) == (20, "index")
    ragged = ((100, 18), F32)  # 72 bytes: no whole words; 8 numbers in a sector
    (rows,) = launched(
        sig("aten.index.Tensor", ((20, 18), F32), None, {}, self=ragged, indices=[ROWS])
    )
    assert (rows.dims["variant"], rows.dims["runs"]) == ("index", 45)
    wide = ((100, 20), F32)  # 80 bytes: whole words, blocks of 4 KiB
    (rows,) = launched(
        sig("aten.index.Tensor", ((20, 20), F32), None, {}, self=wide, indices=[ROWS])
    )
    assert (rows.dims["variant"], rows.dims["runs"], rows.dims["width"]) == ("rows", 20, 20)


def test_two_indices_pick_elements() -> None:
    (work,) = launched(
        sig("aten.index.Tensor", ((20,), F32), None, {}, self=TABLE, indices=[ROWS, ROWS])
    )
    assert sums([work]) == [("gather", 0, 80 + 320, 80, 120)]
    assert work.dims["variant"] == "index"


def test_an_empty_result_leaves_the_masks() -> None:
    mask = ((100,), "bool")
    assert (
        launched(
            sig("aten.index.Tensor", ((0, 6), F32), None, {}, self=TABLE, indices=[((0,), I64)])
        )
        == ()
    )
    kernels = launched(
        sig("aten.index.Tensor", ((0, 6), F32), None, {}, self=TABLE, indices=[mask])
    )
    # half of the mask is taken to be true: 50 places of 8 bytes
    assert sums(kernels) == [
        ("reduction", 100, 100, 8, 200),
        ("memcpy", 0, 8, 0, 0),
        ("fill", 0, 0, 16, 2),
        ("scan", 100, 100, 400, 600),
        ("pointwise", 50, 400, 400, 150),
    ]


def scattered(name: str, **more: Any) -> list[tuple[str, int, int, int, int]]:
    x, index = ((100, 6), F32), ((100, 3), I64)
    return sums(launched(sig(f"aten.{name}", x, None, {"dim": 1}, self=x, index=index, **more)))


def test_scatters_write_an_element_an_index() -> None:
    source = ((100, 3), F32)
    clone = ("memcpy", 0, 2400, 2400, 0)
    put = ("scatter", 0, 2400 + 1200, 1200, 1800)
    assert scattered("scatter.src", src=source) == [clone, put]
    assert scattered("scatter_.src", src=source) == [put]
    assert scattered("scatter_.value") == [("scatter", 0, 2400, 1200, 1800)]
    # an addition also reads its target, and takes one more instruction
    added = ("scatter", 300, 4800, 1200, 2100)
    assert scattered("scatter_add_.default", src=source) == [added]
    assert scattered("scatter_add.default", src=source) == [clone, added]
    (work,) = launched(
        sig("aten.scatter_.value", TABLE, None, {"dim": 1}, self=TABLE, index=((100, 3), I64))
    )
    assert (work.dims["runs"], work.dims["table_bytes"]) == (300, 24)
    (work,) = launched(
        sig("aten.scatter_.value", TABLE, None, {"dim": 0}, self=TABLE, index=((100, 3), I64))
    )
    assert (work.dims["runs"], work.dims["table_bytes"]) == (300, 2400)
    assert (work.dims["elements"], work.dims["width"]) == (300, 1)


@pytest.mark.parametrize(
    ("name", "dim", "expected", "width"),
    [
        # 20 rows of 6 elements; along the other dimension, 20 of the 6 elements of each of 100 rows
        ("index_add_.default", 0, ("scatter", 120, 160 + 480 + 480, 480, 840), 6),
        ("index_reduce_.default", 0, ("scatter", 120, 1120, 480, 840), 6),
        ("index_add_.default", 1, ("scatter", 2000, 160 + 480 + 2400, 2400, 14000), 1),
        ("index_add_.default", -2, ("scatter", 120, 1120, 480, 840), 6),
    ],
)
def test_slices_by_index(
    name: str, dim: int, expected: tuple[str, int, int, int, int], width: int
) -> None:
    op = sig(
        f"aten.{name}", TABLE, None, {"dim": dim}, self=TABLE, index=ROWS, source=((20, 6), F32)
    )
    (work,) = launched(op)
    assert sums([work]) == [expected]
    assert (work.dims["width"], work.dims["steps"], work.dims["few"]) == (width, 0, False)
    few = sig(f"aten.{name}", TABLE, None, {"dim": dim}, self=TABLE, index=((16,), I64),
              source=((16, 6), F32))  # fmt: skip
    assert (launched(few)[0].dims["steps"], launched(few)[0].dims["few"]) == (16, True)


def test_a_copy_by_index_runs_the_kernel_of_assigned_elements() -> None:
    source = ((20, 6), F32)
    op = sig("aten.index_copy_.default", TABLE, None, {"dim": 0}, self=TABLE, index=ROWS,
             source=source)  # fmt: skip
    (work,) = launched(op)
    assert sums([work]) == [("scatter", 0, 160 + 480, 480, 720)]
    assert (work.dims["variant"], work.dims["width"]) == ("index", 6)


def expanded(rows: int, width: int) -> Tensor:
    """One index per row, expanded along the row."""
    return Tensor((rows, width), I64, (1, 0))


def test_one_index_picks_neighbouring_elements() -> None:
    """20 of 100 rows of 6 numbers: 24 bytes are no whole number of words; of 8 numbers they are."""
    dim, index = {"dim": 0}, expanded(20, 6)
    out, whole = ((20, 6), F32), ((20, 8), F32)
    (work,) = launched(sig("aten.gather.default", out, None, dim, self=TABLE, index=index))
    assert sums([work]) == [("gather", 0, 480 + 160, 480, 720)]
    assert (work.dims["variant"], work.dims["runs"], work.dims["width"]) == ("elements", 20, 6)
    index = expanded(20, 8)
    (work,) = launched(
        sig("aten.gather.default", whole, None, dim, self=((100, 8), F32), index=index)
    )
    assert (work.dims["variant"], work.dims["runs"], work.dims["width"]) == ("rows", 20, 8)
    (work,) = launched(sig("aten.scatter_.src", TABLE, None, dim, self=TABLE,
                           index=expanded(20, 6), src=out))  # fmt: skip
    assert (work.read_bytes, work.dims["runs"], work.dims["width"]) == (160 + 480, 20, 6)


def test_one_index_repeated_along_the_indexed_dimension_is_one_element() -> None:
    """6 additions to one element of each of 100 rows; indices into all elements; no index."""
    where, source = Tensor((100, 6), I64, (1, 0)), ((100, 6), F32)
    op = sig("aten.scatter_add_.default", TABLE, None, {"dim": 1}, self=TABLE, index=where,
             src=source)  # fmt: skip
    assert (launched(op)[0].dims["width"], launched(op)[0].dims["runs"]) == (1, 600)
    put = sig("aten.put_.default", TABLE, None, {}, self=TABLE, index=where, source=source)
    assert launched(put)[0].dims["width"] == 1
    none = Tensor((0, 6), I64, (1, 0))
    op = sig("aten.gather.default", ((0, 6), F32), None, {"dim": 0}, self=TABLE, index=none)
    assert launched(op)[0].dims["width"] == 6


def test_an_index_after_a_whole_dimension() -> None:
    """x[:, where] of [4, 20, 8] with 5 indices, and x[:, mask] with a mask of two dimensions."""
    x, where, mask = ((4, 20, 8), F32), ((5,), I64), ((20, 8), "bool")
    given = {"indices_given": [False, True], "accumulate": True}
    op = sig("aten.index_put.default", x, None, given, self=x, indices=[where],
             values=((4, 5, 8), F32))  # fmt: skip
    assert launched(op)[-1].dims["elements"] == 4 * 5 * 8
    assert launched(op)[-1].dims["width"] == 4 * 8  # sums of whole slices
    given = {"indices_given": [False, True]}
    op = sig("aten.index_put_.default", x, None, given, self=x, indices=[where],
             values=((4, 5, 8), F32))  # fmt: skip
    assert (launched(op)[-1].dims["elements"], launched(op)[-1].dims["width"]) == (160, 8)
    op = sig("aten.index_put_.default", x, None, {"indices_given": [False, True]}, self=x,
             indices=[mask], values=((4, 80), F32))  # fmt: skip
    # half of the 160 places
    assert launched(op)[-1].dims["elements"] == 4 * 80


@pytest.mark.parametrize("name", ["scatter_add", "index_add"])
def test_a_gradient_is_added_to_zeros_in_place(name: str) -> None:
    index = ((100, 3), I64) if name == "scatter_add" else ROWS
    tensors = {"self": TABLE, "index": index}
    tensors["src" if name == "scatter_add" else "source"] = ((100, 3), F32)
    op = sig(f"aten.{name}.default", TABLE, None, {"dim": 0, "into_zeros": True}, **tensors)
    assert [work.family for work in launched(op)] == ["scatter"]
    op = sig(f"aten.{name}.default", TABLE, None, {"dim": 0}, **tensors)
    assert [work.family for work in launched(op)] == ["memcpy", "scatter"]


@pytest.mark.parametrize(("shape", "dim"), [((100,), 0), ((100,), -1), ((), 0)])
def test_slices_of_a_vector_are_single_elements(shape: tuple[int, ...], dim: int) -> None:
    x, source = (shape, F32), (ROWS[0], F32)
    (work,) = launched(
        sig("aten.index_copy_.default", x, None, {"dim": dim}, self=x, index=ROWS, source=source)
    )
    written = min(80, 4 * (shape or (1,))[0])
    assert sums([work]) == [("scatter", 0, 160 + 80, written, 120)]
    assert work.dims["width"] == 1


def put(values: Spec, *indices: Spec, name: str = "index_put_", **args: Any) -> Any:
    return launched(
        sig(f"aten.{name}.default", TABLE, None, args, self=TABLE, indices=list(indices),
            values=values)
    )  # fmt: skip


def test_values_are_put_at_indices() -> None:
    values = ((20, 6), F32)
    (work,) = put(values, ROWS)
    assert sums([work]) == [("scatter", 0, 160 + 480, 480, 720)]
    assert (work.dims["variant"], work.dims["width"], work.dims["table_bytes"]) == (
        "index",
        6,
        2400,
    )
    copied, same = put(values, ROWS, name="index_put")
    assert sums([copied]) == [("memcpy", 0, 2400, 2400, 0)] and same == work
    # half of a mask of 100 rows is taken to be true: 50 rows of 24 bytes
    *masks, write = put(((50, 6), F32), ((100,), "bool"))
    assert len(masks) == 5
    assert sums([write]) == [("scatter", 0, 400 + 1200, 1200, 1800)]
    *masks, write = put(((), F32), ((100,), "bool"), accumulate=True)
    assert write.dims["variant"] == "sorted" and "runs" not in write.dims


def test_accumulated_values_are_sorted_first() -> None:
    values = ((20, 6), F32)
    kernels = sums(put(values, ROWS, accumulate=True, unsafe=True))
    scaled = ("pointwise", 20, 160, 160, 60)
    assert kernels == [
        scaled,
        scaled,
        scaled,
        ("arange", 0, 0, 160, 600),
        *sums(radix_sort(20, 8, 8, 7)),
        ("scatter", 120, 160 + 480 + 480, 480, 840),
    ]
    checked = sums(put(values, ROWS, accumulate=True))
    extreme = [
        ("reduction", 20, 160, 8, 60),
        ("pointwise", 1, 8, 1, 3),
        ("assertion", 0, 1, 0, 2),
    ]
    assert checked == [*extreme * 2, *kernels]
    two = sums(put(((20,), F32), ROWS, ROWS, accumulate=True, unsafe=True))
    assert two[:6] == [*[scaled] * 4, ("pointwise", 20, 320, 160, 80), scaled]


@pytest.mark.parametrize(
    ("shape", "bits"), [((255,), 8), ((256,), 9), ((65535,), 16), ((65536,), 17), ((100, 6), 7)]
)
def test_indices_are_sorted_by_the_bits_of_the_largest(shape: tuple[int, ...], bits: int) -> None:
    x, index, values = (shape, F32), ((5000,), I64), ((5000, *shape[1:]), F32)
    args = {"accumulate": True, "unsafe": True}
    op = sig("aten.index_put_.default", x, None, args, self=x, indices=[index], values=values)
    sorts = [w for w in launched(op) if w.family == "sort"]
    assert sorts == [w for w in radix_sort(5000, 8, 8, bits) if w.family == "sort"]
    # a pass for each 8 bits
    assert sum(w.dims.get("variant") == "pass" for w in sorts) == -(-bits // 8)


def test_a_masked_scatter_is_a_scan_and_a_check() -> None:
    mask = ((100, 6), "bool")
    inputs: dict[str, Any] = {"self": TABLE, "mask": mask, "source": ((600,), F32)}
    kernels = sums(launched(sig("aten.masked_scatter_.default", TABLE, None, {}, **inputs)))
    assert kernels == [
        ("fill", 0, 0, 16, 2),
        ("scan", 600, 600, 4800, 3600),
        ("pointwise", 1, 9, 0, 3),
        ("scatter", 0, 600 + 4800 + 1200, 1200, 3600),
    ]
    copied = sums(launched(sig("aten.masked_scatter.default", TABLE, None, {}, **inputs)))
    assert copied == [("memcpy", 0, 2400, 2400, 0), *kernels]
