"""The columns of the verdict bar: their order, and how they share its width."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple


class Column(NamedTuple):
    """A column, with its widths in pixels for short and for full texts."""

    name: str
    short_px: float
    full_px: float


COLUMNS = (
    Column("regime", 216, 268), Column("time", 114, 146), Column("throughput", 126, 148),
    Column("utilisation", 118, 176), Column("memory", 108, 150), Column("shift", 186, 204),
    Column("power", 102, 164), Column("trust", 114, 122),
)  # fmt: skip
SHIFT = [column.name for column in COLUMNS].index("shift")
"""The column of the next regime shift."""


def column_edges(wide: float) -> list[float]:
    """The left edge of each column, then the right edge of the last, in a bar `wide` pixels wide.

    The columns grow from their short to their full width; outside this range, all scale in
    proportion.
    """
    short = sum(column.short_px for column in COLUMNS)
    full = sum(column.full_px for column in COLUMNS)
    part = min(1.0, max(0.0, (wide - short) / (full - short)))
    widths = [c.short_px + part * (c.full_px - c.short_px) for c in COLUMNS]
    scale = wide / sum(widths)
    return list(accumulate((scale * width for width in widths), initial=0.0))
