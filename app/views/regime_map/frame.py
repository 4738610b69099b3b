"""The frame of a regime map: axes, the cursor's values on them, and the legend of lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.scenes.field import MapAxis
from app.scenes.regime_map import Chart, Spot
from app.scenes.sweep_curves import axis_title, value_words
from app.scenes.ticks import Ticks, choice_ticks, factor_ticks, place
from app.views.regime_map.cursor import axis_chip
from app.widgets.paint import Paint, elided, pill_box, width

_HINT = "drag or arrow keys move, Enter selects"


def pixel(chart: Chart, area: QRectF, x: float, y: float) -> QPointF:
    """Return the pixel of a position on both axes."""
    assert chart.field is not None
    along, up = chart.field.along, chart.field.up
    return QPointF(
        area.left() + (x - along.low) / (along.high - along.low) * area.width(),
        area.bottom() - (y - up.low) / (up.high - up.low) * area.height(),
    )


def cell(chart: Chart, area: QRectF, at: QPointF) -> tuple[int, int] | None:
    """Return the fine cell [y, x] of the field at a pixel, or None outside the area."""
    assert chart.field is not None
    if not area.contains(at):
        return None
    rows, columns = chart.field.largest.shape
    across, up = (at.x() - area.left()) / area.width(), (area.bottom() - at.y()) / area.height()
    return min(int(up * rows), rows - 1), min(int(across * columns), columns - 1)


def positions(axis: MapAxis) -> Any:
    """Return the positions of an axis's points."""
    values = axis.line.values
    if not axis.smooth:
        return np.arange(len(values), dtype=float)
    return np.array([place(float(v)) for v in values if isinstance(v, int | float)])


def axes(paint: Paint, chart: Chart, area: QRectF, chosen: QPointF | None) -> None:
    """Draw values and titles of both axes, without values that the cursor's own would cover."""
    theme, field = paint.theme, chart.field
    assert field is not None
    each = 56 if field.along.smooth else 90
    for at, name in _ticks(field.along, int(area.width() / each)):
        x = pixel(chart, area, at, field.up.low).x()
        if chosen is None or abs(x - chosen.x()) > width(name) / 2 + 24:
            paint.text(x, area.bottom() + 13, elided(name, each), theme.ink3, align=0.5)
    for at, name in _ticks(field.up, int(area.height() / 16)):
        y = pixel(chart, area, field.along.low, at).y()
        if chosen is None or abs(y - chosen.y()) > 15:
            paint.text(area.left() - 9, y, name, theme.ink3, align=1.0, room=area.left() - 12)
    below = axis_title(chart.x.name, chart.x.unit)
    paint.text(area.center().x(), area.bottom() + 32, below, theme.ink2, align=0.5)
    paint.text(8, area.top() - 17, axis_title(chart.y.name, chart.y.unit), theme.ink2)


def _ticks(axis: MapAxis, most: int) -> Ticks:
    if not axis.smooth:
        step = -(-len(axis.line.values) // max(1, most))
        return choice_ticks(axis.line.values)[::step]
    values = [float(v) for v in axis.line.values if isinstance(v, int | float)]
    return factor_ticks(values[0], values[-1], max(2, most))


def chips(paint: Paint, chart: Chart, area: QRectF, spot: Spot, at: QPointF) -> None:
    """Draw the cursor's values on the axes."""
    x, y = (value_words(line.values[i]) for line, i in zip((chart.x, chart.y), spot, strict=True))
    half = pill_box(0, 0, x, weight=600).width() / 2
    middle = min(max(at.x(), half + 2), area.right() + 16 - half)
    axis_chip(paint, QPointF(middle, area.bottom() + 13), x)
    half = pill_box(0, 0, y, weight=600).width() / 2
    axis_chip(paint, QPointF(max(half + 2, area.left() - half - 4), at.y()), y)


def legend(paint: Paint, chart: Chart, area: QRectF, y: float) -> None:
    """Draw the legend of lines, and a hint about pointer and keys."""
    theme, x = paint.theme, area.left()
    lines = [("regime boundary", 2.2, False, 1.0), ("equal time", 1.0, False, 0.6)]
    lines += [("memory full", 2.2, True, 1.0)] if chart.limit else []
    for words, wide, dotted, opacity in lines if chart.field and chart.field.smooth else []:
        paint.line([(x, y), (x + 22, y)], theme.ink, wide, dotted=dotted, opacity=opacity)
        x = paint.text(x + 28, y, words, theme.ink3).right() + 16
    if x + width(_HINT) < area.right():
        paint.text(area.right(), y, _HINT, theme.ink3, align=1.0)
