"""Continue a list that grows by equal rows in every step, in one place or several, given the list
at two lengths. The counts in a row grow by the same amount from period to period and from list to
list."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

ENOUGH = 2
"""The least number of adjacent periods in the shorter list: with fewer, all numbers would be needed
to fit the growth, and none would check it."""


class Row(NamedTuple):
    """The part that is equal in every period, and the counts."""

    label: Hashable
    counts: tuple[int, ...]


class ContinuedRow(NamedTuple):
    """A row of the continued list: row `like` of the longer list with new counts."""

    like: int
    counts: tuple[int, ...]


def continued(short: Sequence[Row], long: Sequence[Row], times: int) -> list[ContinuedRow] | None:
    """`long`, which has one period more than `short` in each place that grows, with `times` further
    periods in each.

    None if the two differ in anything else: rows before, between and after the periods must be
    equal in both. There must be ENOUGH periods in which every count of a row is linear in the
    period's number and in the number of periods.
    """
    front = _common(short, long)
    if front == len(short) == len(long):
        return [ContinuedRow(i, _onward(short[i], long[i], times)) for i in range(front)]
    for period in range(len(long) - len(short), 0, -1):
        end = front + period
        if not _common(short[front : front + 1], long[end : end + 1]) and front < len(short):
            continue
        grown = _grown(short[:front], long[:end], times)
        rest = None if grown is None else continued(short[front:], long[end:], times)
        if grown is not None and rest is not None:
            return grown + [ContinuedRow(like + end, counts) for like, counts in rest]
    return None


def _grown(short: Sequence[Row], long: Sequence[Row], times: int) -> list[ContinuedRow] | None:
    """`continued` for lists with one place that grows, where `long` begins with the labels of
    `short`."""
    period, front = len(long) - len(short), len(short)
    values = _steady(short, long, period, range(front - _common(short[::-1], long[::-1]), front))
    if values is None:
        return None
    start, copies = values
    rows = [ContinuedRow(i, _onward(short[i], long[i], times)) for i in range(start)]
    for copy in range(copies + 1 + times):
        for place in range(start, start + period):
            x, step, more = _growth(short, long, place, period)
            counts = tuple(a + copy * b + times * c for a, b, c in zip(x, step, more, strict=True))
            rows.append(ContinuedRow(place + min(copy, copies) * period, counts))
    return rows + [
        ContinuedRow(i + period, _onward(short[i], long[i + period], times))
        for i in range(start + copies * period, len(short))
    ]


def _common(one: Sequence[Row], other: Sequence[Row]) -> int:
    """The number of rows at the start of both lists that have equal labels."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a.label != b.label or len(a.counts) != len(b.counts):
            return place
    return min(len(one), len(other))


def _onward(short: Row, long: Row, times: int) -> tuple[int, ...]:
    return tuple(b + times * (b - a) for a, b in zip(short.counts, long.counts, strict=True))


def _steady(
    short: Sequence[Row], long: Sequence[Row], period: int, where: range
) -> tuple[int, int] | None:
    """The first row and the length of the longest series of linear periods in `short`. `long` has
    one period more; the labels of all rows in `where` repeat."""
    for copies in range(len(where) // period, ENOUGH - 1, -1):
        for start in range(where.stop - copies * period, where.start - 1, -1):
            rows = range(start, start + period)
            if all(_linear(short, long, place, period, copies) for place in rows):
                return start, copies
    return None


def _growth(
    short: Sequence[Row], long: Sequence[Row], place: int, period: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """For each count: its value in the first period, its step to the next period, and its step if
    the list has one period more."""
    first, second, before = long[place].counts, long[place + period].counts, short[place].counts
    steps = tuple(b - a for a, b in zip(first, second, strict=True))
    return first, steps, tuple(b - a for a, b in zip(before, first, strict=True))


def _linear(
    short: Sequence[Row], long: Sequence[Row], place: int, period: int, copies: int
) -> bool:
    first, step, more = _growth(short, long, place, period)
    for copy in range(copies + 1):
        at = tuple(a + copy * b for a, b in zip(first, step, strict=True))
        if long[place + copy * period].counts != at:
            return False
        before = tuple(a - b for a, b in zip(at, more, strict=True))
        if copy < copies and short[place + copy * period].counts != before:
            return False
    return True
