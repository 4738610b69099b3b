"""How many rows and columns one program takes, by the width of the rows."""

from __future__ import annotations

from typing import NamedTuple

import triton


class Tile(NamedTuple):
    """Rows and columns of one program, each a power of two, and its warps."""

    rows: int
    cols: int
    warps: int


def whole_rows(cols: int) -> Tile:
    """Rows that are reduced: as many whole ones as make 2048 elements, at least one."""
    width = triton.next_power_of_2(cols)
    rows = max(1, 2048 // width)
    return Tile(rows, width, _warps(rows * width))


def patch(cols: int) -> Tile:
    """Elements that stand alone: 1024 of them, in the fewest rows."""
    width = min(1024, triton.next_power_of_2(cols))
    return Tile(1024 // width, width, 4)


def _warps(elements: int) -> int:
    """16 elements a thread, where 4 to 16 warps allow it."""
    return min(16, max(4, elements // (32 * 16)))
