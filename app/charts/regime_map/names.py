"""The labels on a regime map: regimes, areas that cannot run, and times of choices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.charts.regime_map.frame import Frame
from app.drawing import (
    Box,
    Item,
    Marker,
    Metrics,
    Point,
    Rectangle,
    Text,
    elided,
    pill,
    regime_ink,
)
from app.drawing.labels import Labels
from app.quantities import data, seconds, trimmed
from app.theme import BODY_PX, SUPPORT_PX
from simulator.prediction import Regime
from simulator.scenario.resolve import resolve

_LIMIT: dict[Regime, str] = {
    "compute": "limited by arithmetic",
    "memory": "limited by bandwidth",
    "overhead": "limited by host and launches",
}
_STEPS = [(x, y) for x in range(-240, 241, 40) for y in range(-240, 241, 40)]
_LEAST_SHARE = 0.012  # share of the map: a smaller area has no note
_WHY_PX = 200.0
_TIME_PX, _MOST_UP = 84.0, 32


def names(frame: Frame, metrics: Metrics, labels: Labels) -> list[Item]:
    """The name of each regime in its area, and the reasons in areas that do not fit or run."""
    chart, field = frame.chart, frame.field
    items: list[Item] = []
    if field.over.any():
        varies = {"gpu", "memory"} & {chart.x.name, chart.y.name}
        capacity = "the GPU's memory" if varies else _memory(frame)
        why = f"needs more than {capacity}"
        items += _note(frame, field.over, "Does not fit", why, metrics, labels)
    if (~field.known).any() and field.mapped.map.refused:
        why = elided(metrics, field.mapped.map.refused[0], _WHY_PX)
        unknown = np.asarray(~field.known, np.bool_)
        items += _note(frame, unknown, "Cannot run", why, metrics, labels)
    for regime, (x, y) in chart.places if field.smooth else ():
        items += _regime(frame, regime, frame.pixel_at(x, y), metrics, labels)
    return items


def _memory(frame: Frame) -> str:
    """The memory of the GPU, the same at every point."""
    return trimmed(data(resolve(frame.field.mapped.sweep.scenarios[0]).gpu.memory_bytes))


def _regime(
    frame: Frame, regime: Regime, middle: Point, metrics: Metrics, labels: Labels
) -> list[Item]:
    """A regime's mark, name and limit near the middle of its area; if there is too little room,
    only the name, or nothing."""
    inside = frame.field.inside(regime)

    def belongs(x: float, y: float) -> bool:
        cell = frame.cell(x, y)
        return cell is not None and bool(inside[cell])

    name, limit = f"{regime.capitalize()}-bound", _LIMIT[regime]
    bold = metrics.width(name, BODY_PX, 600)
    for wide, high in ((46 + max(bold, metrics.width(limit)), 44.0), (46 + bold, 28.0)):
        box = _room(wide, high, middle, labels, belongs)
        if box is None:
            continue
        labels.take(box.grown(4))
        left, two = box.left + 36, high > 30
        y = box.top + 15 if two else box.centre[1]
        items: list[Item] = [
            Rectangle(box, "bg1", "line", radius=6),
            Marker(box.left + 19, box.centre[1], regime, 7),
            Text(left, y, name, regime_ink(regime), BODY_PX, 600),
        ]
        return [*items, Text(left, box.top + 31, limit, "ink2")] if two else items
    return []


def _room(
    wide: float,
    high: float,
    middle: Point,
    labels: Labels,
    belongs: Callable[[float, float], bool],
) -> Box | None:
    """The free box nearest to the middle that lies in the area, or None."""
    for right, down in sorted(_STEPS, key=lambda step: abs(step[0]) + 1.5 * abs(step[1])):
        box = Box(middle[0] - wide / 2 + right, middle[1] - high / 2 + down, wide, high)
        corners = ((x, y) for x in (box.left, box.right) for y in (box.top, box.bottom))
        if labels.free(box) and all(belongs(*corner) for corner in corners):
            return box
    return None


def _note(
    frame: Frame,
    inside: NDArray[np.bool_],
    head: str,
    why: str,
    metrics: Metrics,
    labels: Labels,
) -> list[Item]:
    """The reason why steps of an area do not fit or cannot run, in the middle of the area."""
    rows, columns = np.nonzero(inside)
    if rows.size < _LEAST_SHARE * inside.size:
        return []
    x = float(frame.field.along.edges[int(np.median(columns))])
    y = float(frame.field.up.edges[int(np.median(rows))])
    middle = frame.pixel_at(x, y)
    wide, area = 20 + max(metrics.width(head, SUPPORT_PX, 600), metrics.width(why)), labels.inside
    left = min(max(middle[0] - wide / 2, area.left + 4), area.right - wide - 4)
    box = Box(left, min(max(middle[1] - 19, area.top + 4), area.bottom - 42), wide, 38)
    if not labels.free(box):
        return []
    labels.take(box)
    return [
        Rectangle(box, "bg1", "line", radius=6),
        Text(box.centre[0], box.top + 12, head, "ink", SUPPORT_PX, 600, "middle"),
        Text(box.centre[0], box.top + 27, why, "ink2", anchor="middle"),
    ]


def times(frame: Frame, metrics: Metrics, labels: Labels) -> list[Item]:
    """The step times of some points, on a map whose axes are choices."""
    chart = frame.chart
    items: list[Item] = []
    for row in _spread(len(chart.y.values), _MOST_UP):
        for column in _spread(len(chart.x.values), max(1, int(frame.plot.width / _TIME_PX))):
            if chart.why((column, row)):
                continue
            words = trimmed(seconds(chart.figures((column, row))["period_s"], 2))
            name = pill(metrics, *frame.pixel((column, row)), words)
            if labels.free(name.box):
                labels.take(name.box.grown(6, 1))
                items.append(name)
    return items


def _spread(count: int, most: int) -> range:
    """At most `most` indices, spread evenly over `count`."""
    step = max(1, -(-count // most))
    return range(step // 2, count, step)
