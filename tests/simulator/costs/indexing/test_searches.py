"""Searches, histograms, distinct values, draws and masks: hand-computed figures of each kernel."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from tests.simulator.costs.conftest import launched, sig, sums

F32, I64 = "float32", "int64"
SCAN = 6
"""Instructions per element of a scan."""


def test_a_binary_search_reads_no_more_than_its_table() -> None:
    values, table = ((4000,), F32), ((100,), F32)
    out = ((4000,), I64)
    (work,) = launched(sig("aten.bucketize.Tensor", out, None, {}, self=values, boundaries=table))
    # 7 probes: 400 bytes of boundaries and 16,000 of values; 4 + 6·7 = 46 instructions per value
    assert sums([work]) == [("gather", 0, 16400, 32000, 184000)]
    assert work.dims == {"elements": 4000, "width": 1, "probes": 7}
    rows = ((20, 64), F32)
    (scalar,) = launched(sig("aten.searchsorted.Scalar", ((), I64), None, {}, sorted_sequence=rows))
    # a row of 64 takes 7 probes; the value of 4 bytes is a launch argument
    assert sums([scalar]) == [("gather", 0, 7 * 4 + 4, 8, 46)]
    (one,) = launched(
        sig("aten.searchsorted.Tensor", out, None, {}, sorted_sequence=((0,), F32), self=values)
    )
    assert one.dims["probes"] == 1


def test_a_histogram_is_counted_by_atomics() -> None:
    x, out = ((20000,), F32), ((100,), F32)
    extreme = ("reduction", 20000, 80000, 4, 60000)
    counted = [("fill", 0, 0, 400, 200), ("scatter", 20000, 80000, 400, 160000)]
    wait = ("memcpy", 0, 4, 0, 0)
    name = "aten.histc.default"
    every = launched(sig(name, out, None, {}, self=x))
    assert sums(every) == [extreme, wait, extreme, wait, *counted]
    # a row of 20,000, of which a load takes 4
    assert (every[0].dims["cols"], every[0].dims["vector"]) == (20000, 4)
    assert every[-1].dims["bins"] == 100
    assert sums(launched(sig(name, out, None, {"min": 1, "max": 2}, self=x))) == counted


def test_bins_are_sized_by_the_host() -> None:
    x, weights, out = ((1000,), I64), ((1000,), F32), ((50,), F32)
    plain = launched(sig("aten.bincount.default", ((50,), I64), None, {}, self=x))
    assert sums(plain) == [
        *[("reduction", 1000, 8000, 8, 3000), ("memcpy", 0, 8, 0, 0)] * 2,
        ("fill", 0, 0, 400, 100),
        ("scatter", 1000, 8000, 400, 8000),
    ]
    weighed = launched(sig("aten.bincount.default", out, None, {}, self=x, weights=weights))
    assert sums(weighed)[-1] == ("scatter", 1000, 12000, 200, 8000)


def test_repeated_elements_are_scattered_after_a_scan() -> None:
    name, repeats = "aten.repeat_interleave.Tensor", ((5000,), I64)
    kernels = launched(sig(name, ((12000,), I64), None, {}, repeats=repeats))
    assert sums(kernels) == [
        ("fill", 0, 0, 32, 4),  # the states of two tiles of 4,096 elements, 16 bytes each
        ("scan", 5000, 40000, 40000, 5000 * SCAN),
        ("memcpy", 0, 8, 0, 0),
        ("scatter", 0, 80000, 96000, 12000 * 6),
    ]


def unique(name: str, **args: bool) -> list[tuple[str, int, int, int, int]]:
    x = ((2000,), I64)
    return sums(launched(sig(f"aten.{name}.default", [x], None, args, self=x)))


def test_distinct_values() -> None:
    selected = [
        ("fill", 0, 0, 16, 2),
        ("scan", 2000, 16000, 16000, 2000 * SCAN),
        ("memcpy", 0, 8, 0, 0),
    ]
    # up to 4,864·4 / 8 pairs are sorted by one block
    assert unique("_unique2") == [("sort_tile", 0, 16000, 16000, 160000), *selected]
    assert unique("unique_consecutive") == selected
    compared = [
        ("pointwise", 2000, 16000, 16000, 6000),
        *selected[:2],
        ("scatter", 0, 32000, 16000, 12000),
    ]
    assert unique("_unique2", return_inverse=True) == [
        ("arange", 0, 0, 16000, 60000),
        ("sort_tile", 0, 32000, 32000, 160000),  # keys with their positions
        *compared,
        *selected,
    ]
    assert unique("unique_consecutive", return_inverse=True) == [*compared, *selected]
    assert unique("_unique2", return_counts=True) == [
        ("sort_tile", 0, 16000, 16000, 160000),
        *selected,
        ("pointwise", 2000, 16000, 16000, 6000),
    ]
    x = ((2000,), I64)
    args = {"return_inverse": True}
    inverse = launched(sig("aten.unique_consecutive.default", [x], None, args, self=x))
    # each element goes to its own place
    assert [w.dims["width"] for w in inverse if w.family == "scatter"] == [1]
    none = ((0,), I64)
    assert launched(sig("aten._unique2.default", [none], None, {}, self=none)) == ()


def isin(**inputs: Any) -> tuple[Work, ...]:
    kind = "Tensor_Tensor" if len(inputs) > 1 else "Tensor_Scalar"
    if "elements" not in inputs:
        kind = "Scalar_Tensor"
    return launched(sig(f"aten.isin.{kind}", ((1000,), "bool"), None, {}, **inputs))


def test_membership_of_few_is_tested_in_pairs() -> None:
    values, tests = ((1000,), I64), ((20,), I64)
    assert sums(isin(elements=values, test_elements=tests)) == [
        ("pointwise", 20000, 1020 * 8, 20000, 80000),
        ("reduction", 20000, 20000, 1000, 40000),
        ("pointwise", 0, 1000, 1000, 2000),
    ]
    assert sums(isin(elements=values))[0] == ("pointwise", 1000, 8008, 1000, 4000)
    # 10 test elements for a single value are too many
    assert sums(isin(test_elements=((9,), F32)))[0] == ("pointwise", 9, 40, 9, 36)
    assert isin(test_elements=((10,), F32))[0].family == "memcpy"


def test_membership_of_many_is_tested_by_one_sort() -> None:
    values, tests = ((1000,), F32), ((500,), F32)
    assert sums(isin(elements=values, test_elements=tests)) == [
        ("memcpy", 0, 6000, 6000, 0),
        ("arange", 0, 0, 12000, 45000),
        ("sort_tile", 0, 18000, 18000, 120000),
        ("pointwise", 1500, 12000, 1500, 6000),
        ("fill", 0, 0, 16, 2),
        ("scatter", 0, 13500, 1500, 9000),
        ("gather", 0, 8000, 1000, 6000),
    ]
    assert [w.dims["width"] for w in isin(elements=values, test_elements=tests)[-2:]] == [1, 1]
    wide = isin(elements=((1000,), I64), test_elements=((500,), I64))
    assert wide[0].bytes == 2 * 12000


def multinomial(draws: int, **args: Any) -> list[tuple[str, int, int, int, int]]:
    x, out = ((4, 100), F32), ((4, draws), I64)
    op = sig("aten.multinomial.default", out, None, {"num_samples": draws, **args}, self=x)
    return sums(launched(op))


def test_draws_without_replacement_are_the_largest_quotients() -> None:
    checks = [
        ("pointwise", 1200, 1600, 400, 2000),
        ("reduction", 400, 400, 1, 800),
        ("memcpy", 0, 1, 0, 0),
    ] * 2
    expected = [
        *checks,
        ("pointwise", 800, 0, 1600, 400 * 41),  # exponentials: forty instructions and a store
        # divisions: eight instructions, two loads, a store
        ("pointwise", 400, 3200, 1600, 400 * 11),
        ("reduction", 400, 1600, 32, 800),
    ]
    assert multinomial(1) == multinomial(1, replacement=True) == expected
    x, out = ((4, 100), F32), ((4, 1), I64)
    largest = launched(sig("aten.multinomial.default", out, None, {}, self=x))[-1]
    assert largest.dims == {"rows": 4, "cols": 100, "inner": 1}
    assert multinomial(5)[-1] == ("reduction", 400, 1600, 160, 800)


def test_draws_with_replacement_search_a_scan() -> None:
    x, out = ((4, 100), F32), ((4, 5), I64)
    args = {"num_samples": 5, "replacement": True}
    works = launched(sig("aten.multinomial.default", out, None, args, self=x))
    assert [(w.dims["rows"], w.dims["cols"], w.dims["inner"]) for w in works[2:4]] == [
        (4, 100, 1)
    ] * 2
    kernels = multinomial(5, replacement=True)
    assert kernels[:2] == [("memcpy", 0, 1600, 1600, 0)] * 2  # the weights, twice
    assert kernels[2] == ("reduction", 400, 1600, 1600, 800)
    assert kernels[3] == ("scan", 400, 1600, 1600, 400 * SCAN)
    # 20 draws, each with 20 probes of 4 bytes
    assert kernels[4] == ("gather", 0, 1600, 160, 120)
    assert multinomial(2, replacement=True)[4][2] == 640


MASK = ((20, 30), "bool")


def nonzeros(selected: int, elements: int, dims: int) -> list[tuple[str, int, int, int, int]]:
    """The kernels of `nonzero`: they count, copy the count to the host, select the flat indices of
    half of the mask, and split them into coordinates."""
    return [
        ("reduction", elements, elements, 8, 2 * elements),
        ("memcpy", 0, 8, 0, 0),
        ("fill", 0, 0, 16, 2),
        ("scan", elements, elements, 8 * selected, elements * SCAN),
        ("pointwise", selected, 8 * selected, 8 * selected * dims, 3 * selected),
    ]


def test_a_masked_gather_clamps_its_indices() -> None:
    table, index, out = ((50, 40), F32), ((20, 30), I64), ((20, 30), F32)
    name = "aten._unsafe_masked_index.default"
    op = sig(name, out, None, {"fill": 0}, self=table, mask=MASK, indices=[index, index])
    kernels = launched(op)
    clamp = ("pointwise", 1200, 4800, 4800, 2400)
    assert sums(kernels) == [
        clamp,
        clamp,
        ("gather", 0, 2400 + 9600, 2400, 3600),
        ("pointwise", 600, 600, 2400, 2400),
    ]
    assert kernels[2].dims == {
        "elements": 600, "width": 1, "variant": "index", "table_bytes": 8000, "runs": 600,
    }  # fmt: skip
    none = ((0, 30), F32)
    assert launched(sig(name, none, None, {}, self=table, mask=MASK, indices=[index])) == ()


@pytest.mark.parametrize(("shape", "moved"), [((50, 40), 2400), ((10, 40), 1600)])
def test_masked_values_are_accumulated(shape: tuple[int, int], moved: int) -> None:
    table, index, values = (shape, F32), ((20, 30), I64), ((20, 30), F32)
    name = "aten._unsafe_masked_index_put_accumulate.default"
    op = sig(name, table, None, {}, self=table, mask=MASK, indices=[index], values=values)
    kernels = launched(op)
    whole = shape[0] * shape[1] * 4
    assert sums(kernels) == [
        ("memcpy", 0, 2400, 2400, 0),
        ("pointwise", 600, 600, 2400, 2400),
        ("pointwise", 1200, 4800, 4800, 2400),
        ("memcpy", 0, whole, whole, 0),
        ("arange", 0, 0, 4800, 18000),
        # values, indices, and the sums so far: at most the whole table
        ("scatter", 600, 2400 + 4800 + moved, moved, 4200),
    ]
    assert kernels[-1].dims["table_bytes"] == whole
    none = ((0, 30), F32)
    assert (
        launched(sig(name, table, None, {}, self=table, mask=MASK, indices=[], values=none)) == ()
    )


def test_gradients_of_masked_elements_are_gathered() -> None:
    grad = ((20, 30), F32)
    kernels = launched(
        sig("aten.masked_scatter_backward.default", ((500,), F32), None, {}, grad_output=grad,
            mask=MASK)
    )  # fmt: skip
    # half of 600 elements are taken to be true
    assert sums(kernels) == [
        *nonzeros(300, 600, 2),
        ("gather", 0, 2400 + 1200, 1200, 1800),
        ("fill", 0, 0, 2000, 500),
        ("copy", 0, 1200, 1200, 9000),
    ]
    assert kernels[5].dims["runs"] == 300 and kernels[5].dims["table_bytes"] == 2400
    assert kernels[-1].dims == {"elements": 300, "transposed": False}
    one = ((1,), F32)
    alone = launched(
        sig("aten.masked_scatter_backward.default", one, None, {}, grad_output=one,
            mask=((1,), "bool"))
    )  # fmt: skip
    assert alone[-1].dims["elements"] == 1


def test_a_random_permutation_is_a_sort_of_random_keys() -> None:
    """A million keys differ with a probability of 0.9 if they have 43 bits: six passes of 8 bits
    over keys and numbers of 8 bytes. Those of 1,000 numbers have 23 bits, and fit in one block."""
    n = 1_000_000
    works = launched(sig("aten.randperm.default", ((n,), "int64"), None, {"n": n}))
    assert [w.family for w in works[:3]] == ["fill", "arange", "random"]
    assert works[2].write_bytes == 8 * n
    passes = [w for w in works if w.dims.get("variant") == "pass"]
    assert len(passes) == 6
    assert {w.read_bytes for w in passes} == {16 * n}
    assert works[-1].family == "pointwise"
    few = launched(sig("aten.randperm.default", ((1000,), "int64"), None, {"n": 1000}))
    assert [w.family for w in few] == ["fill", "arange", "random", "sort_tile", "pointwise"]
    assert few[2].write_bytes == 4000
