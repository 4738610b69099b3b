"""The distinct rows of a table, so that results for equal rows are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_WEIGHT = np.uint64(0x9E3779B97F4A7C15)  # weight of the first column; the others have its powers


def distinct_rows(table: NDArray[Any]) -> tuple[Ints, Ints]:
    """The index of the first row of each set of rows with equal bits, in order, and the set of each
    row. Items have 8 bytes. Rows are sorted by a checksum; if different rows share a checksum, a
    row may count as distinct twice."""
    if len(table) == 1:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    bits = np.ascontiguousarray(table).view(np.uint64)
    weights = np.cumprod(np.full(bits.shape[1], _WEIGHT))
    order = np.argsort((bits ^ bits >> np.uint64(32)) @ weights, kind="stable")
    by_sum = bits[order]
    begins = np.ones(len(bits), np.bool_)
    begins[1:] = (by_sum[1:] != by_sum[:-1]).any(axis=1)
    first = order[begins]
    in_order = np.argsort(first)
    number = np.empty_like(in_order)
    number[in_order] = np.arange(in_order.size)
    of = np.empty_like(order)
    of[order] = number[np.cumsum(begins) - 1]
    return first[in_order], of
