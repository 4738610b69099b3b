"""The places of the axes of parallel coordinates: wider gaps where values have longer texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from app.scenes.combinations.table import CombinationColumn
from app.theme import SUPPORT_PX
from app.views.combinations.axis import places, scale_of
from app.widgets.paint import width

OUTSIDE = 74.0
"""Pixels at the left of the first axis and at the right of the last."""
_LEAST, _PILL, _TITLE_GAP = 26.0, 14.0, 8.0


@dataclass(frozen=True)
class Spacing:
    """`xs` are the axes' x coordinates, `value_room` and `title_room` the pixels for their texts;
    `low` are the axes whose title is on the second line."""

    xs: tuple[float, ...]
    value_room: tuple[float, ...]
    title_room: tuple[float, ...]
    low: tuple[bool, ...]

    @property
    def nearest(self) -> float:
        """The smallest distance between two axes."""
        return min((right - left for left, right in pairwise(self.xs)), default=OUTSIDE)


def spacing(columns: Sequence[CombinationColumn], wide: float, height: float) -> Spacing:
    """Place the axes of columns on a picture of `wide` × `height` pixels. Texts of choices are at
    the left of their axis, texts of figures at its right."""
    own = [_text_width(column, height) for column in columns]
    needs = [
        max(
            _LEAST,
            (0.0 if left.words else own[at]) + (own[at + 1] if columns[at + 1].words else 0.0),
        )
        for at, left in enumerate(columns[:-1])
    ]
    gaps = _filled(needs, wide - 2 * OUTSIDE)
    xs = tuple(accumulate(gaps, initial=OUTSIDE))
    scaled = [min(1.0, gap / need) for gap, need in zip(gaps, needs, strict=True)]
    rooms: list[float] = []
    for at, column in enumerate(columns):
        gap = at - 1 if column.words else at
        rooms.append(own[at] * scaled[gap] if 0 <= gap < len(gaps) else OUTSIDE)
    titles = [width(column.name, SUPPORT_PX, 600) for column in columns]
    stagger = any(
        (titles[at] + titles[at + 1]) / 2 + _TITLE_GAP > gap for at, gap in enumerate(gaps)
    )
    step = 2 if stagger else 1
    title_rooms = [
        min(
            (abs(xs[n] - xs[at]) for n in (at - step, at + step) if 0 <= n < len(xs)),
            default=wide,
        )
        - _TITLE_GAP
        for at in range(len(xs))
    ]
    low = tuple(stagger and bool(at % 2) for at in range(len(xs)))
    return Spacing(xs, tuple(rooms), tuple(title_rooms), low)


def _text_width(column: CombinationColumn, height: float) -> float:
    values = places(column, scale_of(column, height))
    return max(width(column.value_text(value)) for value in values) + _PILL + 8


def _filled(needs: list[float], room: float) -> list[float]:
    """Gaps that add up to `room`: as even as the needs allow, or the needs scaled down."""
    room = max(room, 1.0)
    if sum(needs) >= room:
        return [need * room / sum(needs) for need in needs]
    larger: set[int] = set()
    while True:
        even = (room - sum(needs[n] for n in larger)) / max(1, len(needs) - len(larger))
        above = {n for n, need in enumerate(needs) if need > even} | larger
        if above == larger:
            return [need if n in larger else even for n, need in enumerate(needs)]
        larger = above
