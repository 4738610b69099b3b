"""The tile of one program, by the width of the rows."""

from __future__ import annotations

from typing import NamedTuple

import triton


class Tile(NamedTuple):
    """The rows and columns that one program processes, each a power of two, and its warps."""

    rows: int
    cols: int
    warps: int


def whole_rows(cols: int) -> Tile:
    """A tile of whole rows, for reductions: enough rows for 2048 elements, but at least one."""
    width = triton.next_power_of_2(cols)
    rows = max(1, 2048 // width)
    return Tile(rows, width, _warps(rows * width))


def patch(cols: int) -> Tile:
    """A tile of 1024 independent elements, in as few rows as possible."""
    width = min(1024, triton.next_power_of_2(cols))
    return Tile(1024 // width, width, 4)


def _warps(elements: int) -> int:
    """The number of warps, 4 to 16, for about 16 elements per thread."""
    return min(16, max(4, elements // (32 * 16)))
