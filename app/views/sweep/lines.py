"""Curves of a sweep in pixels, and the labels beside them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath, QPolygonF

from app.scenes.pixel_scale import Floats, Scale
from app.scenes.sweep_measured import MeasuredPoint
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, pill_box


def points(xs: Floats, ys: Floats) -> list[tuple[float, float]]:
    """Return two columns as a list of points."""
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def ring(xs: Floats, low: Floats, high: Floats) -> QPainterPath:
    """Return the area between two curves."""
    outline = [*points(xs, low), *reversed(points(xs, high))]
    path = QPainterPath()
    path.addPolygon(QPolygonF([QPointF(x, y) for x, y in outline]))
    path.closeSubpath()
    return path


def take(labels: Labels, xs: Floats, ys: Floats) -> None:
    """Reserve the room of a curve, so that no label covers it."""
    if xs.size < 2:
        return
    across = np.arange(xs[0], xs[-1], 6.0)
    heights = np.interp(across, xs, ys)
    for left, at, following in zip(across, heights, np.append(heights[1:], ys[-1]), strict=True):
        low, high = min(at, following), max(at, following)
        labels.take(QRectF(left, low - 2, 6.0, high - low + 4))


def crosses(
    paint: Paint, measured: Iterable[MeasuredPoint], colour: str, x: Scale, y: Scale, labels: Labels
) -> None:
    """Draw measurements: a cross per step time, a small cross per GPU busy time."""
    for point in measured:
        if not x.low <= point.value <= x.high:
            continue
        left, top, reach = x.at(point.value), y.at(point.seconds), 3.4 if point.busy else 4.8
        labels.take(QRectF(left - reach, top - reach, 2 * reach, 2 * reach))
        for ground in (True, False):
            for up in (-reach, reach):
                paint.line(
                    [(left - reach, top - up), (left + reach, top + up)],
                    paint.theme.bg1 if ground else colour,
                    4.6 if ground else 2.0,
                )


def at_line(
    paint: Paint,
    xs: Floats,
    ys: Floats,
    words: str,
    colour: str,
    labels: Labels,
    below: bool = False,
) -> None:
    """Label a curve above (or `below`) it, else on its other side, at the first free spot."""
    box = pill_box(0, 0, words)
    for share in np.linspace(0.04, 0.96, 24):
        at = float(xs[0] + share * (xs[-1] - xs[0]))
        on = float(np.interp(at, xs, ys))
        for away in (13.0, 19.0, -13.0) if below else (-13.0, 13.0, -19.0, 19.0):
            room = QRectF(at - box.width() / 2, on + away - 8, box.width(), 16)
            if labels.free(room):
                labels.take(room)
                paint.pill(at, on + away, words, colour)
                return
