"""Matrix products on a single thread.

OpenBLAS divides a product among all cores. The products of a prediction take less than a
millisecond. On a busy computer threads that wait for each other take five times as long, and with
several threads the last bit may depend on the number of cores."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_OF_VECTORS, _BY_A_VECTOR, _BY_A_MATRIX = 10_000, 9216, 1 << 18
"""Multiplications up to which OpenBLAS 0.3.31 uses a single thread (kernel/x86_64/ddot.c,
interface/gemv.c, gemm.c)."""
_LEAST = 8
"""Rows and columns of the smallest parts: numpy computes a single row or column in another way,
which may change the last bit."""


def product(one: Floats, other: Floats) -> Floats:
    """`one @ other` for a matrix `one`, in parts of its rows and of the columns of `other`."""
    most, inner = (_BY_A_VECTOR if other.ndim == 1 else _BY_A_MATRIX), max(1, len(other))
    if len(one) * max(1, other.size) <= most:
        return one @ other
    whole = np.empty((len(one), *other.shape[1:]))
    if other.ndim == 1:
        for rows in long_parts(len(one), most // inner):
            np.matmul(one[rows], other, out=whole[rows])
        return whole
    for columns in _parts(other.shape[1], most // (2 * _LEAST * inner)):
        part = other[:, columns]
        for rows in long_parts(len(one), most // max(1, part.size)):
            np.matmul(one[rows], part, out=whole[rows, columns])
    return whole


def weighted_sum(weights: Floats, figures: Floats) -> Any:
    """`weights @ figures`: the sum of figures [rows] or [rows, points], each times the weight of
    its row."""
    if figures.ndim == 2:
        return product(figures.T, weights)
    parts = long_parts(len(weights), _OF_VECTORS)
    return sum((weights[part] @ figures[part] for part in parts), np.float64(0))


@lru_cache(4096)
def _parts(count: int, most: int) -> tuple[slice, ...]:
    """Slices of `count` items. A slice has from half of `most` to `most` items, or at least
    `_LEAST` if half of `most` is less."""
    size = max(_LEAST, most // 2 // _LEAST * _LEAST)
    begins = [part * size for part in range(max(1, count // size))]
    return tuple(slice(a, b) for a, b in zip(begins, [*begins[1:], count], strict=True))


@lru_cache(4096)
def long_parts(count: int, most: int) -> tuple[slice, ...]:
    """Slices of `count` items, of at most `most` and at least _LEAST, as long as possible; each
    begins at a multiple of _LEAST, so that equal rows have equal bits in any of these parts."""
    size = max(_LEAST, most // _LEAST * _LEAST)
    begins = list(range(0, count, size))
    if len(begins) > 1 and count - begins[-1] < _LEAST:
        begins[-1] -= _LEAST
    begins = list(dict.fromkeys(begins))  # parts of _LEAST: the last one is longer
    return tuple(slice(a, b) for a, b in zip(begins, [*begins[1:], count], strict=False))
