"""Products of matrices by a single thread.

OpenBLAS divides a product among all cores. Those of a prediction take less than a millisecond: on a
busy computer threads that wait for each other take five times the time, and with several threads
the last bit depends on the number of cores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BY_A_VECTOR, _BY_A_MATRIX = 9216, 1 << 18
"""Multiplications up to which OpenBLAS 0.3.31 uses a single thread (interface/gemv.c, gemm.c)."""
_ROWS, _COLUMNS = 16, 8
"""The least rows and columns of a part; it multiplies them in fours and eights."""


def product(one: Floats, other: Floats) -> Floats:
    """`one @ other` for a matrix `one`, in parts of its rows and of the columns of `other`."""
    most, inner = (_BY_A_VECTOR if other.ndim == 1 else _BY_A_MATRIX), max(1, len(other))
    if len(one) * max(1, other.size) <= most:
        return one @ other
    width = max(_COLUMNS, most // (inner * _ROWS) // _COLUMNS * _COLUMNS)
    width = 1 if other.ndim == 1 else min(width, other.shape[1])
    height = max(_ROWS, most // (inner * width) // _ROWS * _ROWS)
    whole = np.empty((len(one), *other.shape[1:]))
    for top in range(0, len(one), height):
        rows = slice(top, top + height)
        if other.ndim == 1:
            np.matmul(one[rows], other, out=whole[rows])
            continue
        for left in range(0, other.shape[1], width):
            columns = slice(left, left + width)
            np.matmul(one[rows], other[:, columns], out=whole[rows, columns])
    return whole
