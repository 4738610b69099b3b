"""The distinct rows of a table, so that results for equal rows are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_FEW = 64  # number of rows up to which a dictionary is faster than sorting
_WEIGHT = np.uint64(0x9E3779B97F4A7C15)  # weight of the first column; the others have its powers


def distinct_rows(table: NDArray[Any]) -> tuple[Ints, Ints]:
    """The index of the first row of each set of rows with equal bits, in order, and the set of each
    row. Items have 8 bytes. Rows are sorted by a checksum; if different rows share a checksum, a
    row may count as distinct twice."""
    if table.size and len(table) <= _FEW:
        return _of_few(table)
    bits = np.ascontiguousarray(table).view(np.uint64)
    weights = np.cumprod(np.full(bits.shape[1], _WEIGHT))
    order = np.argsort((bits ^ bits >> np.uint64(32)) @ weights)
    by_sum = bits.take(order, axis=0)
    begins = np.ones(len(bits), np.bool_)
    np.any(by_sum[1:] != by_sum[:-1], axis=1, out=begins[1:])
    starts = np.flatnonzero(begins)
    is_first = np.zeros(len(bits), np.bool_)
    first = np.minimum.reduceat(order, starts) if starts.size else order
    is_first[first] = True
    number = np.cumsum(is_first)[first] - 1
    of = np.empty_like(order)
    of[order] = np.repeat(number, np.diff(starts, append=len(bits)))
    return np.flatnonzero(is_first), of


def _of_few(table: NDArray[Any]) -> tuple[Ints, Ints]:
    """`distinct_rows` of a few rows, with the same result."""
    bits = np.ascontiguousarray(table).tobytes()
    width = len(bits) // len(table)
    numbers: dict[bytes, int] = {}
    first: list[int] = []
    of: list[int] = []
    for row in range(len(table)):
        number = numbers.setdefault(bits[row * width : (row + 1) * width], len(first))
        if number == len(first):
            first.append(row)
        of.append(number)
    return np.array(first, np.int64), np.array(of, np.int64)
