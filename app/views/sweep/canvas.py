"""The plot of a sweep: time with its interval above, shares below, regime shifts across both."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent

from app.scenes.pixel_scale import Scale
from app.scenes.sweep_curves import Curve, Curves, axis_name, axis_title, within_words
from app.theme import SUPPORT_PX, Theme
from app.views.sweep import axes, shifts
from app.views.sweep.axes import Halves
from app.views.sweep.cards import card
from app.views.sweep.lines import crosses
from app.views.sweep.paint import (
    Frame,
    busy_label,
    curve_label,
    curves,
    does_not_fit,
    scenario_points,
    shares,
    side_colour,
)
from app.widgets.canvas import Canvas, Card
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, face

_LEFT, _RIGHT, _TOP, _GAP, _BOTTOM, _FLAT_BOTTOM = 52.0, 18.0, 22.0, 30.0, 44.0, 24.0
_FLAT = 190.0
"""A canvas lower than this omits the axis title, which the panel's title repeats."""
_STALE = 0.6


class SweepCanvas(Canvas):
    """`over` is an index into `values` of the current side's curve. `head` holds a title and a
    quieter subtitle above the plot, for views with several sweeps."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Sweep: time and shares of time along an axis")
        self.sweep: Curves | None = None
        self.head: tuple[str, str] = ("", "")
        self.stale = False
        self.setMinimumSize(300, 150)

    def show_curves(self, sweep: Curves) -> None:
        """Draw a sweep."""
        self.sweep, self.stale, self.over = sweep, False, None
        self.update()

    def wait(self) -> None:
        """Fade the curves until new ones arrive. Repeated calls, as during a slider's drag, do not
        repaint."""
        if not self.stale or self.over is not None:
            self.stale, self.over = True, None
            self.update()

    # geometry

    @property
    def halves(self) -> Halves:
        """The areas of time and of shares."""
        foot = _FLAT_BOTTOM if self.height() < _FLAT else _BOTTOM
        wide, room = self.width() - _LEFT - _RIGHT, self.height() - _TOP - _GAP - foot
        high = 0.62 * room
        top = QRectF(_LEFT, _TOP, wide, high)
        return top, QRectF(_LEFT, top.bottom() + _GAP, wide, room - high)

    @property
    def along(self) -> Scale:
        """The horizontal axis of both halves."""
        top, _ = self.halves
        values = self.sweep.curves[0].values if self.sweep and self.sweep.curves else [1.0, 2.0]
        low, high = float(values[0]), float(values[-1])
        low, high = (low, high) if high > low else (low / 2, 2 * high)
        return Scale(low, high, top.left(), top.right(), True)

    @property
    def upward(self) -> Scale:
        """The axis of time, in seconds."""
        top, _ = self.halves
        columns = [
            c.columns[name]
            for c in (self.sweep.curves if self.sweep else ())
            for name in ("low_s", "high_s", "period_s")
        ]
        columns += [
            np.array(
                [
                    point.seconds
                    for curve in (self.sweep.curves if self.sweep else ())
                    for point in curve.measured
                ]
            )
        ]
        times = np.concatenate([v[v > 0] for v in columns])
        times = times if times.size else np.array([1e-3, 1.0])
        low, high = float(times.min()), float(times.max())
        slack = 1.5 if high < 3 * low else 1.25
        return Scale(low / slack, high * slack, top.bottom(), top.top(), True)

    @property
    def first(self) -> Curve | None:
        """The current side's curve."""
        return self.sweep.curves[0] if self.sweep and self.sweep.curves else None

    # painting

    def draw(self, paint: Paint) -> None:
        x = _LEFT
        for words, colour, weight in zip(
            self.head, (self.theme.ink, self.theme.ink3), (600, 400), strict=True
        ):
            x = paint.text(x, 10, words, colour, SUPPORT_PX, weight).right() + 8
        sweep, first = self.sweep, self.first
        if sweep is None:
            paint.text(
                self.width() / 2,
                self.height() / 2,
                "Predicting along the axis …",
                self.theme.ink3,
                align=0.5,
            )
            return
        if first is None:
            self._refused(paint, sweep)
            return
        paint.painter.setOpacity(_STALE if self.stale else 1.0)
        x, y = self.along, self.upward
        frame = Frame(self.halves, x, y)
        labels = Labels(self.halves[0].adjusted(2, 2, -2, -2))
        title = ""
        if sweep.line and self.height() >= _FLAT:
            title = axis_title(sweep.line.name, sweep.line.unit)
        axes.upward(paint, self.halves, y)
        axes.along(paint, self.halves, x, first.here, title, self.width())
        does_not_fit(paint, frame, sweep, labels)
        shifted = shifts.places(x, sweep.shifts)
        shares(paint, frame, first, [*shifted, x.at(first.here)])
        curves(paint, frame, sweep, labels)
        shifts.lines(paint, self.halves, x, sweep.shifts)
        top = self.halves[0]
        labels.take(*(QRectF(at - 2, top.top(), 4, top.height()) for at in shifted))
        for index in reversed(range(len(sweep.curves))):
            curve = sweep.curves[index]
            crosses(paint, curve.measured, side_colour(self.theme, index, curve), x, y, labels)
        scenario_points(paint, frame, sweep, labels)
        shifts.names(paint, self.halves, x, sweep.shifts, sweep.about)
        for index in reversed(range(len(sweep.curves))):
            curve_label(paint, frame, first, sweep.curves[index], index, labels)
        busy_label(paint, frame, first, labels)
        if self.over is not None:
            at = self.point()
            _, low = self.halves
            paint.line([(at.x(), _TOP), (at.x(), low.bottom())], self.theme.ink3, 1.0, dotted=True)
            paint.mark(first.regime(self.over), at.x(), at.y(), 6.5, self.theme.ink)
        paint.painter.setOpacity(1.0)

    def _refused(self, paint: Paint, sweep: Curves) -> None:
        """Explain why there is no sweep, with line breaks as needed."""
        area = QRectF(self.rect()).adjusted(24, 16, -24, -16)
        paint.painter.setFont(face(SUPPORT_PX)[0])
        paint.painter.setPen(QColor(self.theme.ink2))
        words = f"No sweep over {within_words(axis_name(sweep.axis))}.\n{sweep.refused}"
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        paint.painter.drawText(area, int(flags), words)

    # the pointer and the keys

    def hit(self, at: QPointF) -> int | None:
        first = self.first
        if first is None or self.stale:
            return None
        top, below = self.halves
        if not top.united(below).adjusted(-6, 0, 6, 0).contains(at):
            return None
        return int(np.argmin(np.abs(self.along.many(first.values) - at.x())))

    def card(self) -> Card | None:
        first, sweep = self.first, self.sweep
        if first is None or sweep is None or self.over is None:
            return None
        return card(sweep, first, int(self.over))

    def card_at(self) -> QPointF:
        """Above the point, at the top of the plot, so that the card does not hide the curves."""
        point = self.point()
        return QPointF(point.x(), _TOP - 12)

    def point(self) -> QPointF:
        """The pixel of `over` on the curve."""
        first = self.first
        if first is None or self.over is None:
            return self.at
        row = int(self.over)
        at = self.along.at(float(first.values[row]))
        return QPointF(at, self.upward.at(float(first.columns["period_s"][row])))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        first, key = self.first, Qt.Key(event.key())
        if first is None or self.stale:
            super().keyPressEvent(event)
            return
        last = first.values.size - 1
        here = self.over
        if here is None:
            here = int(np.argmin(np.abs(np.log(first.values / first.here))))
        steps = {
            Qt.Key.Key_Right: here + 1,
            Qt.Key.Key_Up: here + 1,
            Qt.Key.Key_Left: here - 1,
            Qt.Key.Key_Down: here - 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if key in steps:
            self.show_over(min(max(steps[key], 0), last))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            if self.over is not None:
                self.pressed_on.emit(self.over)
        elif key == Qt.Key.Key_Escape and self.over is not None:
            self.show_over(None)
        else:
            super().keyPressEvent(event)
