"""The marks of a roofline: groups of launches, their names, and trails from a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from typing import Any

from app.charts.roofline.frame import Frame
from app.drawing import Box, Item, Line, Marker, Metrics, Point, Rectangle, Spot, pill
from app.drawing.labels import Labels
from app.quantities import number, percent, scaled, seconds
from app.scenes.launches import LaunchGroup

_NAMED = 0.004  # share of the time from which a mark has a label
_MOST_NAMED = 12
_TIP_PX, _TIP_HALF_PX = 6.0, 3.5

Mark = tuple[LaunchGroup, Point, float]
"""A group of identical launches, its centre in pixels, and its radius."""


def marks(frame: Frame, groups: Iterable[LaunchGroup]) -> list[Mark]:
    """The marks inside the plot, in the order of the groups."""
    area = frame.plot.grown(1)
    placed = ((each, frame.place(each), frame.radius(each.share)) for each in groups)
    return [mark for mark in placed if area.holds(*mark[1])]


def spots(drawn: Sequence[Mark]) -> tuple[Spot, ...]:
    """The spots for the pointer: each mark with a margin, and its figures as tooltip."""
    return tuple(
        Spot(group, Box.around(*at, max(radius, 6.0) + 2), sentence(group), round=True)
        for group, at, radius in drawn
    )


def sentence(group: LaunchGroup) -> str:
    """The figures of a group of launches."""
    return (
        f"{group.label}, {group.shape} {group.dtype}: {group.count:,} launches, "
        f"{seconds(group.total_s)} ({percent(group.share)} of the GPU's time), "
        f"{group.regime}-bound, {number(group.intensity)} FLOP/byte, "
        f"{scaled(group.achieved_flops_per_s, 'FLOP/s')}, {percent(group.of_roof)} of {group.roof}"
    )


def trails(
    frame: Frame, groups: Sequence[LaunchGroup], before: Sequence[LaunchGroup]
) -> list[Item]:
    """The baseline's marks hollow, with arrows to the matching ones of this side."""
    unmatched: dict[Any, list[LaunchGroup]] = {}
    for group in groups:
        unmatched.setdefault(group.key, []).append(group)
    items: list[Item] = []
    for old in before:
        at, radius = frame.place(old), frame.radius(old.share)
        matches = unmatched.get(old.key)
        if matches:
            new = matches.pop(0)
            items += _arrow(at, radius, frame.place(new), frame.radius(new.share))
        items.append(Marker(*at, old.regime, radius, "a", True, 0.85))
    return items


def _arrow(start: Point, off: float, end: Point, before: float) -> list[Item]:
    """An arrow between the rims of two marks whose radii are `off` and `before`."""
    length = hypot(end[0] - start[0], end[1] - start[1])
    if length < off + before + 8:
        return []
    along = (end[0] - start[0]) / length, (end[1] - start[1]) / length

    def at(far: float, aside: float = 0.0) -> Point:
        return (
            start[0] + along[0] * far - along[1] * aside,
            start[1] + along[1] * far + along[0] * aside,
        )

    tip = length - before - 2
    wings = at(tip - _TIP_PX, -_TIP_HALF_PX), at(tip), at(tip - _TIP_PX, _TIP_HALF_PX)
    return [Line((at(off + 1), at(tip)), "a", 1.4), Line(wings, "a", 1.4)]


def shapes(
    drawn: Sequence[Mark], on_trails: bool, picked: frozenset[int], over: LaunchGroup | None
) -> list[Item]:
    """The marks; marks that are not `picked` are dimmed, and picked marks and the mark under the
    pointer have rings."""
    items: list[Item] = []
    for group, at, radius in drawn:
        dim = bool(picked) and not group.ops & picked
        edge = "b" if on_trails else "bg1"
        items.append(Marker(*at, group.regime, radius, edge, opacity=0.25 if dim else 0.94))
    for group, at, radius in drawn:
        if group == over or group.ops & picked:
            reach = 1.5 * radius + 4
            ring = Box.around(*at, reach)
            items.append(Rectangle(ring, edge="ink", edge_width=1.8, radius=reach))
    return items


def names(
    drawn: Sequence[Mark], metrics: Metrics, labels: Labels, over: LaunchGroup | None
) -> list[Item]:
    """The names of the heaviest groups, where there is room; a distant name has a line to its
    mark."""
    items: list[Item] = []
    for group, (x, y), radius in drawn[:_MOST_NAMED]:
        if group.share < _NAMED and group != over:
            continue
        words = group.label + (f" ×{group.count}" if group.count > 1 else "")
        size = pill(metrics, 0, 0, words).box
        room = labels.beside(x, y, radius, size.width, size.height)
        if room is None:
            continue
        middle_x, middle_y = room.centre
        if abs(middle_x - x) - room.width / 2 > radius + 8 or (
            abs(middle_y - y) - room.height / 2 > radius + 8
        ):
            items.append(Line(((x, y), (middle_x, middle_y)), "ink3"))
        items.append(pill(metrics, middle_x, middle_y, words))
    return items
