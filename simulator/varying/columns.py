"""Columns of floats from plain and varying numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.varying.number import Varying

Floats = NDArray[np.float64]


def in_column(value: Any) -> Any:
    """A plain number unchanged, a varying one as an array of floats [points]."""
    return np.asarray(value.values, np.float64) if type(value) is Varying else value


def anywhere(value: Any) -> bool:
    """Whether the number is nonzero at any point."""
    return bool(value.values.any()) if type(value) is Varying else bool(value)


def stacked(values: Sequence[Any], counts: Sequence[int] | None) -> Floats:
    """Concatenate numbers, each repeated for its count of points (once if `counts` is None)."""
    if counts is None:
        return np.array(values, np.float64)
    column = np.empty(sum(counts))
    begin = 0
    for value, count in zip(values, counts, strict=True):
        column[begin : begin + count] = in_column(value)
        begin += count
    return column
