"""Sums of tensors that the kernel before has written."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.costs.reductions.dimensions import sum_over_rows, total


@pytest.mark.parametrize(
    ("dtype", "item", "lanes", "vector"),
    [("float32", 4, "float32", 4), ("float64", 8, "float64", 4), ("float16", 2, "float32", 8)],
)
def test_the_sum_of_packed_elements(dtype: str, item: int, lanes: str, vector: int) -> None:
    loads: dict[str, Any] = {
        "itemsize": item, "unroll": 4, "nested": False, "kind": "sum", "again": True,
    }  # fmt: skip
    whole = {"rows": 1, "cols": 1000, "inner": 1, "across": False, "vector": vector}
    assert total(1000, dtype) == Work(
        "reduction", 1000, 1000 * item, item, dtype=lanes, instructions=2000, dims=whole | loads
    )
    # a load across rows takes up to four outputs
    columns = {"rows": 12, "cols": 300, "inner": 12, "across": True, "vector": 4}
    assert sum_over_rows(300, 12, dtype) == Work(
        "reduction", 3600, 3600 * item, 12 * item, dtype=lanes, instructions=7200,
        dims=columns | loads,
    )  # fmt: skip
