"""The parts of a sweep's plot: curves with their intervals, stacked shares, labels and points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.drawing.colours import STACK
from app.quantities import between, plain, seconds
from app.scenes.pixel_scale import Scale
from app.scenes.sweep_curves import Curve, Curves
from app.theme import CURVE_WIDTH, LABEL_PX, SECOND_WIDTH, Theme
from app.views.sweep.axes import Halves
from app.views.sweep.lines import at_line, points, ring, take
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, Points, pill_box, width

_BAND = 0.16  # opacity of an interval


@dataclass(frozen=True)
class Frame:
    """The areas of time and of shares, with the axis of values and the axis of time."""

    halves: Halves
    x: Scale
    y: Scale


def does_not_fit(paint: Paint, frame: Frame, sweep: Curves, labels: Labels) -> None:
    """Hatch the values that do not fit in the GPU's memory."""
    if sweep.unfit is None:
        return
    top, _ = frame.halves
    left = frame.x.at(sweep.unfit)
    area = QRectF(left, top.top(), max(4.0, top.right() - left), top.height())
    paint.area(area, "refused")
    words = f"{plain(sweep.unfit)} does not fit"
    box = pill_box(top.right() - 3, top.bottom() - 12, words, align=1.0)
    labels.take(box)
    paint.pill(top.right() - 3, top.bottom() - 12, words, paint.theme.danger, align=1.0)


def shares(paint: Paint, frame: Frame, first: Curve, lines: list[float]) -> None:
    """Draw the regimes' shares stacked, with names where no vertical line crosses them."""
    theme = paint.theme
    _, area = frame.halves
    xs = frame.x.many(first.values)
    floor = np.zeros(xs.size)
    for regime in STACK:
        band = first.columns[regime]
        top = floor + band
        low_y, high_y = (area.bottom() - area.height() * v for v in (floor, top))
        if band.max() > 0:
            paint.area(ring(xs, low_y, high_y), regime)
            paint.line(points(xs, high_y), theme.bg1, 1.0)
        thick = band * area.height()
        inner = (xs > area.left() + 38) & (xs < area.right() - 38)
        for line in lines:
            inner &= np.abs(xs - line) > 0.5 * width(regime, LABEL_PX, 600) + 8
        if inner.any():
            at = int(np.argmax(np.where(inner, thick, -1.0)))
            if thick[at] >= 20:
                paint.pill(
                    xs[at],
                    (low_y[at] + high_y[at]) / 2,
                    regime,
                    theme.regime(regime).ink,
                    weight=600,
                )
        floor = top


def side_colour(theme: Theme, index: int, curve: Curve) -> str:
    """Ink for the current side, the letter's colour for another side."""
    place = "ABCD".find(curve.side.letter)
    return theme.ink if index == 0 else theme.sides[max(0, place)]


def curves(paint: Paint, frame: Frame, sweep: Curves, labels: Labels) -> None:
    """Draw each side's curve with its interval, and the first side's busy time dotted."""
    for index in reversed(range(len(sweep.curves))):
        curve = sweep.curves[index]
        if index and curve.same(sweep.curves[0]):
            continue
        colour = side_colour(paint.theme, index, curve)
        xs = frame.x.many(curve.values)
        low, high, middle = (
            frame.y.many(curve.columns[n]) for n in ("low_s", "high_s", "period_s")
        )
        path = ring(xs, low, high)
        paint.area(path, colour, _BAND if index == 0 else 0.6 * _BAND)
        if index == 0:
            busy = frame.y.many(curve.columns["gpu_busy_s"])
            _clipped(paint, frame.halves[0], points(xs, busy), paint.theme.ink3)
            take(labels, xs, busy)
        paint.line(
            points(xs, middle), colour, SECOND_WIDTH if index else CURVE_WIDTH, dashed=index > 0
        )
        take(labels, xs, middle)


def _clipped(paint: Paint, area: QRectF, line: Points, colour: str) -> None:
    paint.painter.save()
    paint.painter.setClipRect(area)
    paint.line(line, colour, 1.4, dotted=True)
    paint.painter.restore()


def curve_label(
    paint: Paint, frame: Frame, first: Curve, curve: Curve, index: int, labels: Labels
) -> None:
    """Label a side's curve, or its point if the curve coincides with the first side's."""
    words = f"{curve.side.letter}  {curve.side.name}"
    if index and curve.same(first):
        if frame.x.low <= curve.here <= frame.x.high:
            at = QPointF(frame.x.at(curve.here), frame.y.at(curve.side.prediction.period_s))
            box = pill_box(0, 0, words)
            room = labels.beside(at.x(), at.y(), 6, box.width(), box.height())
            if room:
                paint.pill(
                    room.center().x(),
                    room.center().y(),
                    words,
                    side_colour(paint.theme, index, curve),
                )
        return
    at_line(
        paint,
        frame.x.many(curve.values),
        frame.y.many(curve.columns["period_s"]),
        words,
        side_colour(paint.theme, index, curve),
        labels,
    )


def busy_label(paint: Paint, frame: Frame, curve: Curve, labels: Labels) -> None:
    ys = frame.y.many(curve.columns["gpu_busy_s"])
    at_line(paint, frame.x.many(curve.values), ys, "GPU busy", paint.theme.ink3, labels, True)


def scenario_points(paint: Paint, frame: Frame, sweep: Curves, labels: Labels) -> None:
    """Mark the scenarios themselves: the current one with its time, the others hollow."""
    theme = paint.theme
    _, below = frame.halves
    for index in reversed(range(len(sweep.curves))):
        curve = sweep.curves[index]
        if not frame.x.low <= curve.here <= frame.x.high:
            continue
        time, low, high = curve.here_s()
        at = QPointF(frame.x.at(curve.here), frame.y.at(time))
        labels.take(QRectF(at.x() - 7, at.y() - 7, 14, 14))
        if index:
            paint.mark(
                None, at.x(), at.y(), 4.6, side_colour(paint.theme, index, curve), True, wide=1.8
            )
            continue
        paint.line(
            [(at.x(), frame.halves[0].top()), (at.x(), below.bottom())],
            theme.ink,
            1.4,
            casing=theme.bg1,
        )
        labels.take(QRectF(at.x() - 2, frame.halves[0].top(), 4, frame.halves[0].height()))
        paint.mark(None, at.x(), at.y(), 5.6, theme.bg1, wide=2.2)
        words = f"{seconds(time)}, {between(low, high, time)}"
        box = pill_box(0, 0, words, weight=600)
        room = labels.beside(at.x(), at.y(), 8, box.width(), box.height())
        if room:
            paint.pill(room.center().x(), room.center().y(), words, theme.ink, weight=600)
