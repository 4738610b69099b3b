"""The columns of a table that fit a narrow terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

GAP = 2
"""Characters between the columns of a table."""


def least_width(heading: str, cells: Sequence[str], wrapped: int | None = None) -> int:
    """The width of a column in characters: its longest line, or `wrapped` if that is less."""
    longest = max(len(line) for text in (heading, *cells) for line in text.split("\n"))
    return longest if wrapped is None else min(longest, max(wrapped, len(heading)))


def fitting(order: Sequence[str], widths: Mapping[str, int], width: int) -> set[str]:
    """The columns that fit a width in characters; columns early in `order` take precedence."""
    chosen: set[str] = set()
    for name in order:
        if sum(widths[each] + GAP for each in (*chosen, name)) - GAP <= width:
            chosen.add(name)
    return chosen
