"""Sorts, selections, scans and searches against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.costs.kernels.radix import radix_sort
from tests.simulator.costs.conftest import launched, sig, sums

F32, I64 = "float32", "int64"


def passes(works: tuple[Work, ...]) -> list[Work]:
    return [w for w in works if w.dims.get("variant") in ("pass", "segmented")]


def families(works: tuple[Work, ...]) -> list[str]:
    return [w.family for w in works]


def test_a_radix_sort_moves_all_pairs_in_each_pass() -> None:
    works = radix_sort(10000, 4, 8)
    # 32 bits are 4 passes of 8, each after a clear; before them two clears, the counts and their
    # sums
    assert len(works) == 4 + 2 * 4
    sweeps = passes(works)
    # 10,000 pairs of 12 bytes each way
    assert [(w.read_bytes, w.write_bytes) for w in sweeps] == [(120000, 120000)] * 4
    # keys of 10 bits take 2 passes
    assert len(radix_sort(10000, 8, 8, 10)) == 8


def test_few_pairs_are_sorted_by_one_block() -> None:
    # 256 threads sort 19·4 / 8 = 9 wide pairs each, 2,304 in all, or 19 narrow ones, 4,864
    assert families(radix_sort(2304, 8, 8)) == ["sort_tile"]
    assert len(radix_sort(2305, 8, 8)) > 1
    assert families(radix_sort(4864, 4, 4)) == ["sort_tile"]


def sort(rows: int, cols: int) -> tuple[Work, ...]:
    x = ((rows, cols), F32)
    return launched(sig("aten.sort.default", [x, ((rows, cols), I64)], None, {"dim": -1}, self=x))


def test_short_rows_are_sorted_a_block_each() -> None:
    works = sort(64, 1000)
    # a copy of the input, an index range, its broadcast to all rows, another copy, the sort
    assert families(works) == ["memcpy", "arange", "copy", "memcpy", "sort"]
    # 64,000 pairs of 12 bytes; a row of 1000 is sorted as one of 1024
    assert (works[4].read_bytes, works[4].write_bytes) == (768000, 768000)
    assert works[4].dims["padded"] == 1024
    assert families(sort(1, 1000))[2] == "memcpy"


@pytest.mark.parametrize(
    ("rows", "cols", "count", "launches"),
    # Passes: one row takes 4 of 8 bits; few rows take 5, one more for the number of the row; many
    # rows take 32 / 6. Launches: a copy and an index range first; a radix sort has two clears, two
    # for counts, and two per pass. Rows that were sorted together are separated at the end.
    [(1, 5000, 4, 2 + 12), (2, 1_000_000, 8, 2 + 24), (16, 5000, 5, 2 + 12 + 6 + 1),
     (128, 5000, 6, 2 + 6)],
)  # fmt: skip
def test_long_rows(rows: int, cols: int, count: int, launches: int) -> None:
    assert len(passes(sort(rows, cols))) == count
    assert len(sort(rows, cols)) == launches


def topk(rows: int, cols: int, k: int, **args: Any) -> tuple[Work, ...]:
    outs = [((rows, k), F32), ((rows, k), I64)]
    return launched(sig("aten.topk.default", outs, None, args, self=((rows, cols), F32)))


def test_topk_selects_and_then_sorts() -> None:
    select, order = topk(512, 8, 2)
    # reads 512·8·4 = 16,384 bytes, writes 512·2·12 = 12,288
    assert (select.read_bytes, select.write_bytes) == (16384, 12288)
    assert (order.family, order.read_bytes) == ("sort", 12288)
    assert len(topk(512, 8, 1)) == len(topk(512, 8, 2, sorted=False)) == 1


def test_long_rows_are_shared_out() -> None:
    # the sought ranks, 2 clears, 4 passes of three kernels, the counts, two scans of two kernels,
    # the gather
    assert len(topk(1, 20000, 1)) == 3 + 12 + 1 + 4 + 1
    assert len(topk(1, 19999, 1)) == 1


def scanned(name: str, shape: tuple[int, ...], dim: int, dtype: str = F32) -> tuple[Work, ...]:
    out = (shape, I64 if dtype == "bool" else dtype)
    return launched(sig(f"aten.{name}.default", out, None, {"dim": dim}, self=(shape, dtype)))


def test_cumsum() -> None:
    (work,) = scanned("cumsum", (8, 100), 1)
    assert (work.flops, work.read_bytes, work.write_bytes) == (800, 3200, 3200)
    # 2^⌊(9 + 7 − 3) / 2⌋ = 64 threads scan 128 elements in 6 steps, with a load and a store
    assert work.dims == {
        "rows": 8,
        "cols": 100,
        "inner": 1,
        "itemsize": 4,
        "blocks": 1,
        "threads": 512,
        "steps": 8,
    }
    (across,) = scanned("cumsum", (8, 100), 0)
    assert across.dims == {
        "rows": 100,
        "cols": 8,
        "inner": 100,
        "itemsize": 4,
        "variant": "across",
        "blocks": 1,
        "threads": 100,
        "steps": 8,
    }


def test_very_many_short_rows_have_a_block_each() -> None:
    # 9 + 4 - 14 bits wrap around below 0: 512 threads for a row of 16
    (work,) = scanned("cumsum", (16384, 16), 1)
    assert (work.dims["blocks"], work.dims["steps"]) == (16384, 11)


def test_one_row_is_cubs_and_masks_are_cast() -> None:
    assert families(scanned("cumsum", (100,), 0)) == ["fill", "scan"]
    works = scanned("cumsum", (8, 100), 1, "bool")
    assert families(works) == ["pointwise", "scan"]
    # the cast's result has 800 elements of 8 bytes
    assert works[1].read_bytes == 6400


def test_cummax_writes_places_too() -> None:
    (work,) = scanned("cummax", (8, 100), 1)
    assert (work.read_bytes, work.write_bytes) == (3200, 9600)
    # 8 rows with 128 threads each, two elements of a row at a time: 2 + log2(128) steps
    (sums_of_rows,) = scanned("cumsum", (8, 100), 1)
    assert work.dims == sums_of_rows.dims | {"variant": "places"}
    (across,) = scanned("cummin", (8, 100), 0)
    assert (across.dims["variant"], across.dims["steps"]) == ("places_across", 8)
    (row,) = scanned("cummax", (1, 100), 1)  # not CUB's
    assert row.dims["variant"] == "places"


def test_a_running_logarithm_has_longer_steps() -> None:
    (along,), (across,) = scanned("logcumsumexp", (8, 100), 1), scanned("logcumsumexp", (8, 100), 0)
    assert (along.dims["variant"], across.dims["variant"]) == ("logs", "logs_across")


def test_search_probes_a_logarithm() -> None:
    values, edges = ((10,), F32), ((1000,), F32)
    (work,) = launched(sig("aten.bucketize.Tensor", ((10,), I64), self=values, boundaries=edges))
    # 10 probes of 4 bytes for each of 10 values, and the values: 400 + 40
    assert (work.dims["probes"], work.read_bytes, work.write_bytes) == (10, 440, 80)


def test_histogram_without_a_range_fetches_it() -> None:
    x, out = ((1000,), F32), ((100,), F32)
    assert families(launched(sig("aten.histc.default", out, None, {"max": 1}, self=x))) == [
        "fill",
        "scatter",
    ]
    works = launched(sig("aten.histc.default", out, None, {}, self=x))
    assert families(works)[:4] == ["reduction", "memcpy", "reduction", "memcpy"]


def test_repeat_interleave_waits_unless_it_knows_the_sum() -> None:
    name, out, repeats = "aten.repeat_interleave.Tensor", ((300,), I64), ((100,), I64)
    assert "memcpy" in families(launched(sig(name, out, None, {}, repeats=repeats)))
    known = launched(sig(name, out, None, {"output_size": 300}, repeats=repeats))
    assert families(known) == ["fill", "scan", "scatter"]


def test_unique_sorts_and_waits() -> None:
    x = ((10000,), I64)
    works = launched(sig("aten._unique2.default", [x], None, {}, self=x))
    # 8 passes over 64-bit keys
    assert len(passes(works)) == 8
    assert works[-1].dims["direction"] == "d2h"
    near = launched(sig("aten.unique_consecutive.default", [x], None, {}, self=x))
    assert families(near) == ["fill", "scan", "memcpy"]


def test_isin_compares_all_pairs_of_few() -> None:
    def isin(tests: int) -> tuple[Work, ...]:
        values, others = ((1000,), I64), ((tests,), I64)
        out = ((1000,), "bool")
        name = "aten.isin.Tensor_Tensor"
        return launched(sig(name, out, elements=values, test_elements=others))

    # 10·1000^0.145 = 27.2
    assert families(isin(27)) == ["pointwise", "reduction", "pointwise"]
    assert isin(27)[0].flops == 27000
    assert "sort_tile" in families(isin(28))


def test_nothing_to_sort_launches_nothing() -> None:
    assert sort(0, 10) == ()
    assert scanned("cumsum", (0,), 0) == ()


def test_digits_of_long_rows_are_counted_block_by_block() -> None:
    # 25,000 elements are 7 blocks of at most 4,096: 14 blocks for two rows
    kernels = topk(2, 25000, 3)
    digit = [
        ("topk", 0, 200000, 7168, 300000),  # each block writes 512 bytes of counts
        ("topk", 0, 7168, 2048, 3584),
        ("topk", 0, 7168, 56, 3584),
    ]
    scanned = [("fill", 0, 0, 112, 28), ("topk", 0, 112, 56, 84)]
    assert sums(kernels) == [
        ("pointwise", 2, 0, 8, 4),
        ("fill", 0, 0, 8, 4),
        ("fill", 0, 0, 8, 4),
        *digit * 4,
        ("pointwise", 14, 112, 112, 42),
        *scanned * 2,
        ("topk", 0, 200000, 72, 300000),
        ("sort", 0, 72, 72, 20 * 2 * 32 * 15),  # rows of up to 32: 15 rounds
    ]
    assert kernels[3].dims == {"rows": 2, "cols": 25000, "key_bytes": 4, "variant": "counts"}


@pytest.mark.parametrize(
    ("rows", "cols"),
    [(20, 20000), (21, 10000), (40, 10000), (41, 8000), (80, 8000), (81, 5000), (199, 5000),
     (200, 3000), (799, 3000), (800, 800), (4000, 800), (4001, 400)],
)  # fmt: skip
def test_rows_are_shared_out_from_a_length_on(rows: int, cols: int) -> None:
    assert len(topk(rows, cols, 1)) > len(topk(rows, cols - 1, 1)) == 1


def test_many_selected_values_are_sorted_row_by_row() -> None:
    (select, *sorts) = topk(2, 10000, 6000)
    # 6,000 pairs of 12 bytes in each of two rows
    assert sums([select]) == [("topk", 0, 80000, 144000, 4 * 20000 * 16)]
    assert sums(sorts)[-2:] == [("gather", 0, 144000, 144000, 72000)] * 2
    assert sums(sorts)[:-2] == sums(radix_sort(6000, 4, 8)) * 2


def test_a_radix_sort_by_hand() -> None:
    kernels = radix_sort(10000, 4, 8)
    assert sums(kernels)[:4] == [
        ("fill", 0, 0, 16, 8),  # a counter for each pass
        ("fill", 0, 0, 4096, 2048),  # 256 bins of 4 bytes for each pass
        ("sort", 0, 40000, 4096, 160000),
        ("sort", 0, 4096, 4096, 6144),
    ]
    # the states of 3 tiles of 4,096; 20 instructions per pair
    assert sums(kernels)[4:6] == [
        ("fill", 0, 0, 3072, 1536),
        ("sort", 0, 120000, 120000, 200000),
    ]
    assert [w.dims.get("variant") for w in kernels[2:6]] == ["histogram", "sums", "memset", "pass"]
    assert kernels[3].dims["elements"] == 1024


def test_a_kth_value_is_selected_by_a_block_a_row() -> None:
    x, outs = ((6, 50), F32), [((6,), F32), ((6,), I64)]
    (work,) = launched(sig("aten.kthvalue.default", outs, None, {"k": 3}, self=x))
    assert sums([work]) == [("topk", 0, 1200, 72, 16 * 300 * 4)]
    # a pass over the row for each two of 32 bits
    shared = {"rows": 6, "cols": 50, "k": 1, "key_bytes": 4, "runs": 6, "steps": 16}
    assert work.dims == shared | {"variant": "one"}
    (middle,) = launched(sig("aten.median.dim", outs, None, {"dim": 1}, self=x))
    assert middle.dims == work.dims
    wide = ((6, 1500), F32)
    (longer,) = launched(sig("aten.mode.default", outs, None, {"dim": 1}, self=wide))
    assert (longer.dims["variant"], longer.dims["steps"]) == ("mode", 32)
    (across,) = launched(sig("aten.kthvalue.default", outs, None, {"dim": 0}, self=x))
    assert (across.dims["rows"], across.dims["cols"]) == (50, 6)
    order, pick = launched(sig("aten.median.default", ((), F32), None, {}, self=x))
    assert sums([order, pick]) == [("sort_tile", 0, 3600, 3600, 24000), ("gather", 0, 4, 4, 6)]


def test_rows_that_are_sorted_together_are_parted_at_the_end() -> None:
    clone, number, *sorts, part = sort(16, 5000)
    assert sums([clone, number]) == [
        ("memcpy", 0, 320000, 320000, 0),
        ("pointwise", 80000, 0, 640000, 160000),
    ]
    # by value, then by the 4 bits of the row
    assert sorts == [*radix_sort(80000, 4, 8), *radix_sort(80000, 4, 8, 4)]
    # 80,000 pairs of 12 bytes
    assert sums([part]) == [("sort", 0, 960000, 960000, 480000)]
    assert part.dims == {"elements": 80000, "width": 1, "variant": "parted"}
