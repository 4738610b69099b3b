"""The lines of a regime map: boundaries, equal times, and where memory is full."""

from __future__ import annotations

import numpy as np

from app.charts.regime_map.frame import Frame
from app.drawing import Item, Line, Metrics, pill
from app.drawing.labels import Labels
from app.quantities import seconds, trimmed
from app.theme import CEILING_WIDTH

_EQUAL_TIME = 0.42  # opacity
_ALONG = (0.8, 0.66, 0.5, 0.9, 0.35, 0.2)  # possible positions of a label along its line


def lines(frame: Frame) -> list[Item]:
    """Lines of equal time, the line where memory is full, and regime boundaries on top."""
    chart, field = frame.chart, frame.field
    items: list[Item] = []
    for _, levels in chart.times:
        items += (Line(frame.placed(line), "ink", opacity=_EQUAL_TIME) for line in levels)
    for line in chart.limit:
        points = frame.placed(line)
        items.append(Line(points, "bg0", CEILING_WIDTH + 2.8))
        items.append(Line(points, "ink", CEILING_WIDTH, "dotted"))
    for boundary in field.mapped.map.boundaries if field.smooth else ():
        for line in boundary.lines:
            items.append(Line(frame.placed(line), "ink", CEILING_WIDTH, casing="bg0"))
    return items


def time_names(frame: Frame, metrics: Metrics, labels: Labels) -> list[Item]:
    """The labels of the lines of equal time, where there is room."""
    items: list[Item] = []
    for level, levels in frame.chart.times:
        longest = max(levels, key=len, default=None)
        if longest is None:
            continue
        points = np.array(frame.placed(longest))
        points = points if points[0, 0] <= points[-1, 0] else points[::-1]
        way = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))))
        for share in _ALONG:
            x, y = (float(np.interp(share * float(way[-1]), way, points[:, i])) for i in (0, 1))
            name = pill(metrics, x, y, trimmed(seconds(level)))
            if labels.free(name.box):
                labels.take(name.box.grown(4, 2))
                items.append(name)
                break
    return items
