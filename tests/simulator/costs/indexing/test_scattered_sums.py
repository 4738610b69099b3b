"""Scatters that add, multiply or compare, kernel by kernel, against hand-computed figures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.costs.conftest import families, launched, sig, sums

F32, I64 = "float32", "int64"
X, INDEX = ((100, 6), F32), ((100, 3), I64)  # 2,400 bytes each
SOURCE = ((100, 3), F32)  # 1,200 bytes
CLONE = ("memcpy", 0, 2400, 2400, 0)
# index, source and the targets are read
WRITE = ("scatter", 300, 2400 + 1200 + 1200, 1200, 2100)


def reduced(name: str = "scatter_reduce", **args: Any) -> list[Any]:
    op = sig(f"aten.{name}.two", X, None, {"dim": 1, **args}, self=X, index=INDEX, src=SOURCE)
    return list(launched(op))


@pytest.mark.parametrize(
    ("how", "variant"),
    [("sum", "atomic"), ("prod", "compared"), ("amax", "compared"), ("amin", "compared")],
)
def test_a_reduction_of_groups_copies_its_target_twice(how: str, variant: str) -> None:
    works = reduced(reduce=how)
    assert sums(works) == [CLONE, CLONE, WRITE]
    assert works[-1].dims["variant"] == variant
    assert sums(reduced("scatter_reduce_", reduce=how)) == [WRITE]


def test_old_values_are_first_replaced() -> None:
    neutral, write = reduced("scatter_reduce_", reduce="amax", include_self=False)
    assert sums([neutral, write]) == [("scatter", 0, 2400, 1200, 1800), WRITE]
    assert neutral.dims["variant"] == "elements"


def test_a_mean_is_a_sum_over_counts() -> None:
    clones, added, counts = [CLONE] * 2, WRITE, WRITE
    ones = [("fill", 0, 0, 1200, 300), ("fill", 0, 0, 2400, 600)]
    # the counts of 600 elements are compared with 0, filled, and divide the sums
    divided = [
        ("pointwise", 600, 2400, 600, 1800),
        ("pointwise", 0, 3000, 2400, 1800),
        ("pointwise", 600, 4800, 2400, 600 * 11),
    ]
    assert sums(reduced(reduce="mean")) == [*clones, added, *ones, counts, *divided]


@pytest.mark.parametrize(
    ("name", "args", "variant"),
    [("scatter_add.default", {}, "atomic"), ("scatter.reduce", {"reduce": "add"}, "atomic"),
     ("scatter.reduce", {"reduce": "multiply"}, "compared"), ("scatter.src", {}, "elements")],
)  # fmt: skip
def test_sums_are_atomic_and_products_compare(
    name: str, args: dict[str, Any], variant: str
) -> None:
    op = sig(f"aten.{name}", X, None, {"dim": 1, **args}, self=X, index=INDEX, src=SOURCE)
    copied, write = launched(op)
    assert (copied.family, write.dims["variant"], write.dims["runs"]) == ("memcpy", variant, 300)
    # an index chooses among the six elements of a row
    assert write.dims["table_bytes"] == 24


def test_values_that_a_network_adds_are_checked_and_copied() -> None:
    """As many kernels as measured on an H200: 20 for 12,288 rows."""
    x, rows = ((12288, 6), F32), ((12288,), I64)
    args = {"accumulate": True}
    gradient = launched(sig("aten.index_put.default", x, None, args, self=x, indices=[rows],
                            values=x))  # fmt: skip
    called = launched(sig("aten.index_put.default", x, None, args | {"by_user": True}, self=x,
                          indices=[rows], values=x))  # fmt: skip
    copied, *checks = called[: len(called) - len(gradient)]
    assert copied.family == "memcpy" and called[-len(gradient) :] == gradient
    assert families(checks) == ["reduction", "pointwise", "assertion"] * 2
    assert (checks[0].dims["kind"], checks[0].dims["cols"]) == ("extremes", 12288)


def test_single_elements_are_added_one_after_another() -> None:
    """Columns by index: 30 rows of 20 picked columns; a warp adds each element alone."""
    x, values, columns = ((30, 100), F32), ((30, 20), F32), ((20,), I64)
    args = {"accumulate": True, "indices_given": [False, True]}
    *_, write = launched(sig("aten.index_put.default", x, None, args, self=x, indices=[columns],
                             values=values))  # fmt: skip
    assert (write.dims["variant"], write.dims["runs"], write.dims["elements"]) == (
        "single", 600, 600,
    )  # fmt: skip
