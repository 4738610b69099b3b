"""The marks of a roofline: groups of launches, their names, and trails from a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import hypot
from typing import Any

import numpy as np

from app.charts.roofline.frame import Frame
from app.drawing import Box, Item, Line, Marker, Markers, Metrics, Point, Rectangle, Spot, pill
from app.drawing.labels import Labels
from app.quantities import number, percent, scaled, seconds
from app.scenes.launches import LaunchColumns, LaunchGroup, launch_columns
from simulator.caches.identity import ByIdentity
from simulator.prediction import Regime

_NAMED = 0.004  # marks with a smaller share of the time have no label
_MOST_NAMED = 12
_TIP_PX, _TIP_HALF_PX = 6.0, 3.5

FEW = 120
"""Number of heaviest marks that are drawn one by one, each with a spot; lighter marks are drawn
together, below the labels."""
_COLUMNS: ByIdentity[LaunchColumns] = ByIdentity(4)

Mark = tuple[LaunchGroup, Point, float]
"""A group of identical launches, its centre in pixels, and its radius."""


def marks(frame: Frame, groups: Sequence[LaunchGroup]) -> list[Mark]:
    """The marks inside the plot, in the order of the groups."""
    area = frame.plot.grown(1)
    if len(groups) > FEW:
        columns = _COLUMNS.get(groups, None, lambda: launch_columns(groups))
        x, y, radius = frame.places(columns)
        inside = (x >= area.left) & (x <= area.right) & (y >= area.top) & (y <= area.bottom)
        rows = np.flatnonzero(inside).tolist()
        places = zip(x[rows].tolist(), y[rows].tolist(), strict=True)
        return [
            (groups[row], at, size)
            for row, at, size in zip(rows, places, radius[rows].tolist(), strict=True)
        ]
    placed = ((each, frame.place(each), frame.radius(each.share)) for each in groups)
    return [mark for mark in placed if area.holds(*mark[1])]


def nearest(light: Sequence[Mark], x: float, y: float) -> LaunchGroup | None:
    """The group of the mark under a point, among marks without a spot, or None."""
    if not light:
        return None
    away = [hypot(at[0] - x, at[1] - y) - max(radius, 6.0) - 2 for _, at, radius in light]
    least = min(range(len(away)), key=away.__getitem__)
    return light[least][0] if away[least] <= 0 else None


def spots(drawn: Sequence[Mark], tooltips: bool) -> tuple[Spot, ...]:
    """The spots for the pointer: each mark with a margin, and its figures as a tooltip."""
    return tuple(
        Spot(
            group,
            Box.around(*at, max(radius, 6.0) + 2),
            sentence(group) if tooltips else "",
            round=True,
        )
        for group, at, radius in drawn[:FEW]
    )


def sentence(group: LaunchGroup) -> str:
    """The figures of a group of launches."""
    launches = f"{group.count:,} launch{'es' * (group.count != 1)}"
    return (
        f"{group.label}, {group.shape} {group.dtype}: {launches}, "
        f"{seconds(group.total_s)} ({percent(group.share)} of the GPU's time), "
        f"{group.regime}-bound, {number(group.intensity)} FLOP/byte, "
        f"{scaled(group.achieved_flops_per_s, 'FLOP/s')}, {percent(group.of_roof)} of {group.roof}"
    )


def trails(
    frame: Frame, groups: Sequence[LaunchGroup], before: Sequence[LaunchGroup]
) -> list[Item]:
    """The baseline's marks, drawn hollow, with arrows to the matching marks of this side."""
    if not before:
        return []
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
    edge = "b" if on_trails else "bg1"
    light: dict[tuple[Regime, float, float], list[Point]] = {}
    for place, (group, at, radius) in enumerate(drawn):
        opacity = 0.25 if picked and not group.ops & picked else 0.94
        if place < FEW:
            items.append(Marker(*at, group.regime, radius, edge, opacity=opacity))
        else:
            light.setdefault((group.regime, round(2 * radius) / 2, opacity), []).append(at)
    for (regime, radius, opacity), points in light.items():
        items.append(Markers(points, regime, radius, edge, opacity))
    for group, at, radius in drawn if picked or over else ():
        if group is over or group == over or group.ops & picked:
            reach = 1.5 * radius + 4
            ring = Box.around(*at, reach)
            items.append(Rectangle(ring, edge="ink", edge_width=1.8, radius=reach))
    return items


def distinct_labels(groups: Sequence[LaunchGroup]) -> list[str]:
    """The labels of groups; groups with the same label also have their family, or their shape if
    they share the family too: an op such as `_transformer_encoder_layer_fwd` launches several."""
    same = Counter(g.label for g in groups)
    same_family = Counter((g.label, g.family) for g in groups)
    labels: list[str] = []
    for g in groups:
        own = g.family if same_family[g.label, g.family] == 1 else g.shape
        labels.append(f"{g.label} {own}" if same[g.label] > 1 else g.label)
    return labels


def names(
    drawn: Sequence[Mark], metrics: Metrics, labels: Labels, over: LaunchGroup | None
) -> list[Item]:
    """The names of the heaviest groups, where there is room; a distant name has a line to its
    mark."""
    items: list[Item] = []
    named = [mark for mark in drawn[:_MOST_NAMED] if mark[0].share >= _NAMED or mark[0] == over]
    labels_of = distinct_labels([group for group, _, _ in named])
    for (group, (x, y), radius), label in zip(named, labels_of, strict=True):
        words = label + (f" ×{group.count}" if group.count > 1 else "")
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
