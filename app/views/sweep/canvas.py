"""The plot of a sweep: time with its interval above, shares below, regime shifts across both."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent

from app.charts.sweep.frame import Frame
from app.charts.sweep.sweep import sweep
from app.drawing import Box, Drawing, Item, Line, Marker
from app.scenes.sweep.curves import Curve, Curves, axis_name, within_words
from app.scenes.sweep.scene import scene_of_curves
from app.theme import SUPPORT_PX, Theme
from app.views.sweep.cards import card
from app.widgets.canvas import Card
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from app.widgets.paint import Paint, face

_LEFT = 52.0
_STALE = 0.6


class SweepCanvas(DrawingCanvas):
    """`over` is an index into `values` of the current side's curve. `head` holds a title and a
    quieter subtitle above the plot, for views with several sweeps."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Sweep: time and shares of time along an axis")
        self.sweep: Curves | None = None
        self.head: tuple[str, str] = ("", "")
        self.stale = False
        self.failure = ""
        """The reason why there is no sweep of the current scenario."""
        self.setMinimumSize(300, 140)

    def show_curves(self, curves: Curves) -> None:
        """Draw a sweep."""
        self.sweep, self.stale, self.over = curves, False, None
        self.failure = ""
        self.redraw()

    def fail(self, reason: str) -> None:
        """Show the reason in place of the curves of an earlier scenario."""
        self.sweep, self.stale, self.over, self.failure = None, False, None, reason
        self.redraw()

    def wait(self) -> None:
        """Fade the curves until new curves arrive. Repeated calls, as during a slider's drag, do
        not repaint."""
        if not self.stale or self.over is not None:
            self.stale, self.over, self.failure = True, None, ""
            self.update()

    # the drawing

    @property
    def frame(self) -> Frame | None:
        """The geometry of the sweep; None if there are no curves."""
        scene = scene_of_curves(self.sweep) if self.sweep else None
        return Frame(scene, Box(0, 0, self.width(), self.height())) if scene else None

    @property
    def first(self) -> Curve | None:
        """The current side's curve."""
        return self.sweep.curves[0] if self.sweep and self.sweep.curves else None

    def drawing(self, width: float, height: float) -> Drawing | None:
        frame = self.frame
        return Drawing(width, height, tuple(sweep(frame, QT_METRICS))) if frame else None

    def draw(self, paint: Paint) -> None:
        x, theme = _LEFT, self.theme
        if self.failure:
            self.paint_message(paint, self.failure)
        elif self.sweep is None:
            words, middle = "Predicting along the axis …", QRectF(self.rect()).center()
            paint.text(middle.x(), middle.y(), words, theme.ink3, align=0.5)
        elif self.first is None:
            self._refused(paint, self.sweep)
        else:
            paint.painter.setOpacity(_STALE if self.stale else 1.0)
            super().draw(paint)
            paint.painter.setOpacity(1.0)
        for words, ink, weight in zip(self.head, (theme.ink, theme.ink3), (600, 400), strict=True):
            x = paint.text(x, 10, words, ink, SUPPORT_PX, weight).right() + 8

    def overlay(self) -> tuple[Item, ...]:
        frame, first = self.frame, self.first
        if frame is None or first is None or self.over is None:
            return ()
        x, y = self.point().x(), self.point().y()
        upright = ((x, frame.top.top), (x, frame.below.bottom))
        mark = Marker(x, y, first.regime(int(self.over)), 6.5, "ink")
        return Line(upright, "ink3", dash="dotted"), mark

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
        first, frame = self.first, self.frame
        if first is None or frame is None or self.stale:
            return None
        both = Box.between(frame.top.left, frame.top.top, frame.top.right, frame.below.bottom)
        if not both.grown(6, 0).holds(at.x(), at.y()):
            return None
        return int(np.argmin(np.abs(frame.x.many(first.values) - at.x())))

    def card(self) -> Card | None:
        first, sweep = self.first, self.sweep
        if first is None or sweep is None or self.over is None:
            return None
        return card(sweep, first, int(self.over))

    def card_at(self) -> QPointF:
        """Above the point, at the top of the plot, so that the card does not hide the curves."""
        frame = self.frame
        return QPointF(self.point().x(), (frame.top.top if frame else 0.0) - 12)

    def point(self) -> QPointF:
        """The pixel of `over` on the curve."""
        first, frame = self.first, self.frame
        if first is None or frame is None or self.over is None:
            return self.at
        row = int(self.over)
        time = float(first.columns["period_s"][row])
        return QPointF(frame.x.at(float(first.values[row])), frame.y.at(time))

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
