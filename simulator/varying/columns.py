"""Numbers, some of them at many points, as columns of floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.varying.number import Varying

Floats = NDArray[np.float64]


def in_column(value: Any) -> Any:
    """A plain number as it is, one that varies as an array of floats [points]."""
    return np.asarray(value.values, np.float64) if type(value) is Varying else value


def anywhere(value: Any) -> bool:
    """Is it other than 0 at any point?"""
    return bool(value.values.any()) if type(value) is Varying else bool(value)


def stacked(values: Sequence[Any], counts: Sequence[int] | None) -> Floats:
    """One number after another, each for so many points; `counts` None: each for one."""
    if counts is None:
        return np.array(values, np.float64)
    found = np.empty(sum(counts))
    begin = 0
    for value, count in zip(values, counts, strict=True):
        found[begin : begin + count] = in_column(value)
        begin += count
    return found
