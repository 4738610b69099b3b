"""The stretches in which a rank waits for another rank and no kernel runs."""

from __future__ import annotations

from collections.abc import Iterable

from app.answers.cluster.answer import RankAnswer

Stretch = tuple[float, float]


def bubbles(rank: RankAnswer) -> list[Stretch]:
    """The intervals, in seconds, in which a rank's collectives wait for another rank and no kernel
    runs."""
    waits = _union((s.start_s, s.end_s) for s in rank.communication if s.kind == "wait")
    busy = _union((s.start_s, s.end_s) for s in rank.compute)
    return _without(waits, busy)


def _union(stretches: Iterable[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for start, end in sorted(stretches):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _without(stretches: list[Stretch], busy: list[Stretch]) -> list[Stretch]:
    rest: list[Stretch] = []
    at = 0
    for start, end in stretches:
        while at < len(busy) and busy[at][1] <= start:
            at += 1
        place, cursor = at, start
        while place < len(busy) and busy[place][0] < end:
            if busy[place][0] > cursor:
                rest.append((cursor, busy[place][0]))
            cursor = max(cursor, busy[place][1])
            place += 1
        if cursor < end:
            rest.append((cursor, end))
    return rest
