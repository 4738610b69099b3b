"""The plot in which the learner predicts, with markers moved by dragging or by arrow keys."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPolygonF

from app.lessons.lesson import LessonSide
from app.scenes.lessons.attempt import Attempt, Key
from app.theme import SUPPORT_PX, Theme
from app.views.lessons.plot import LessonPlot
from app.widgets.paint import Paint, faint, pill_box, width
from simulator.prediction import Regime

_NUDGE, _COARSE = 1.02, 1.2
_BAR_PX = 34.0
"""Length in pixels of the longest bar in the histogram of a class's answers, drawn beside a
marker."""


class GuessCanvas(LessonPlot):
    """Left and right select a marker, up and down move it (left and right for the marker of a
    shift), in larger steps with Shift; Enter locks the prediction."""

    moved = Signal()
    entered = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Your prediction")
        self.dragged_key: Key | None = None
        self.selected = 0

    def show_attempt(self, attempt: Attempt | None) -> None:
        """Show another lesson, or restart the current one."""
        self.attempt, self.dragged_key, self.selected = attempt, None, 0
        self._describe()
        self.update()

    @property
    def beside(self) -> tuple[LessonSide, ...]:
        """The first side, whose figure is given, and the sides to predict."""
        attempt = self.attempt
        assert attempt is not None
        return tuple(s for s in attempt.lesson.sides if s.letter in ("a", *attempt.keys))

    def marker(self) -> Key | None:
        """The marker that the keys move, or None."""
        keys = self.attempt.keys if self.attempt else ()
        return keys[min(self.selected, len(keys) - 1)] if keys else None

    def point(self, key: Key) -> QPointF:
        """The pixel of a marker."""
        assert self.attempt is not None
        y = self.plot.center().y() if key == "shift" else self.upward.at(self.attempt.guesses[key])
        return QPointF(self.x_of(key), y)

    # painting

    def draw(self, paint: Paint) -> None:
        attempt = self.attempt
        if attempt is None or not attempt.keys:
            return
        self.axes(paint)
        theme = self.theme
        if attempt.lesson.guess == "shift":
            self._shift(paint, attempt)
            return
        if "a" not in attempt.keys:
            at = QPointF(self.x_of("a"), self.upward.at(attempt.known.figure("a")))
            if attempt.lesson.line is None:
                paint.mark(None, at.x(), at.y(), 5)
                words = attempt.known.word.text(attempt.known.figure("a"))
                paint.pill(at.x(), at.y() - 15, words, theme.ink, weight=600)
            line = self.curve(attempt)
            if line:
                paint.line(line, theme.b, 2.2)
            if attempt.lesson.line is not None:
                paint.mark(None, at.x(), at.y(), 5)
        self._votes(paint, attempt)
        taken: list[QRectF] = []
        for key in attempt.keys:
            taken.append(self._marker(paint, key, self.point(key), taken))

    def curve(self, attempt: Attempt) -> list[tuple[float, float]]:
        """The learner's curve through the given point and the markers, extended to the end."""
        if attempt.lesson.line is None:
            return []
        first = (self.x_of("a"), self.upward.at(attempt.known.figure("a")))
        points = [first, *((p.x(), p.y()) for p in map(self.point, attempt.keys))]
        (x0, y0), (x1, y1), end = points[-2], points[-1], self.plot.right()
        if end > x1 > x0:
            y = y1 + (y1 - y0) / (x1 - x0) * (end - x1)
            points.append((end, min(max(y, self.plot.top()), self.plot.bottom())))
        return points

    def _shift(self, paint: Paint, attempt: Attempt) -> None:
        at, area, theme = self.point("shift"), self.plot, self.theme
        ground = faint(theme.memory.fill, 0.10)
        paint.painter.fillRect(area.adjusted(0, 0, at.x() - area.right(), 0), ground)
        ground = faint(theme.compute.fill, 0.10)
        paint.painter.fillRect(area.adjusted(at.x() - area.left(), 0, 0, 0), ground)
        paint.line([(at.x(), area.top()), (at.x(), area.bottom())], theme.b, 2.2)
        sides: tuple[tuple[float, float, Regime], ...] = (
            (area.left(), at.x(), "memory"),
            (at.x(), area.right(), "compute"),
        )
        for left, right, regime in sides:
            wide = width(regime, SUPPORT_PX, 500) + 14
            if right - left > wide + 8:
                x = (left + right - wide) / 2
                paint.mark(regime, x + 5, area.top() + 14, 4.5)
                ink = theme.regime(regime).ink
                paint.text(x + 14, area.top() + 14, regime, ink, SUPPORT_PX, 500)
        known = attempt.known.figure("a")
        paint.mark(None, area.left(), self.upward.at(known), 5)
        paint.pill(
            area.left() + 8,
            self.upward.at(known),
            attempt.known.word.text(known),
            theme.ink,
            weight=600,
            align=0.0,
        )
        self._votes(paint, attempt)
        self._marker(paint, "shift", at, [])

    def _votes(self, paint: Paint, attempt: Attempt) -> None:
        """Draw the histogram of the class's guesses, beside each marker or above the axis."""
        share = attempt.known.word.share
        for key in attempt.keys:
            shift = key == "shift"
            bins = attempt.votes.histogram(key, *attempt.range, log=shift or not share)
            most = max((count for _, _, count in bins), default=0)
            reach = 0.0 if shift else self.x_of(key) + 12 + _BAR_PX + 4 + width(f"{most}")
            mirrored = reach > self.width()  # at the left of a marker at the right edge
            for low, high, count in bins:
                if shift:
                    left, right = self.along.at(low), self.along.at(high)
                    tall = count / most * 0.4 * self.plot.height()
                    box = QRectF(left + 1, self.plot.bottom() - tall, right - left - 2, tall)
                else:
                    top, bottom = self.upward.at(high), self.upward.at(low)
                    wide = count / most * _BAR_PX
                    left = self.x_of(key) + (-12 - wide if mirrored else 12)
                    box = QRectF(left, top + 1, wide, bottom - top - 2)
                paint.area(box, self.theme.line2, radius=2)
                end, align = (box.left() - 4, 1.0) if mirrored else (box.right() + 4, 0.0)
                paint.text(end, box.center().y(), f"{count}", self.theme.ink2, align=align)

    def _marker(self, paint: Paint, key: Key, at: QPointF, taken: list[QRectF]) -> QRectF:
        """Draw a marker with its value; return the box of the value."""
        attempt, theme, painter = self.attempt, self.theme, paint.painter
        assert attempt is not None
        upright = key != "shift"
        movable = not attempt.locked
        current = movable and (
            key == self.dragged_key or (self.hasFocus() and key == self.marker())
        )
        if current:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(faint(theme.b, 0.25))
            painter.drawEllipse(at, 13, 13)
        untouched = movable and key not in attempt.moved
        paint.mark(None, at.x(), at.y(), 7, theme.b, hollow=untouched, wide=2.2)
        if not untouched:
            painter.setBrush(faint(theme.b, 1.0))
            painter.setPen(faint(theme.bg1, 1.0))
            painter.drawEllipse(at, 7, 7)
        if movable:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(faint(theme.b, 1.0))
            for sign in (-1, 1):
                tip, base = 16.0 * sign, 11.5 * sign
                corners = [(0, tip), (-4, base), (4, base)]
                shape = [
                    QPointF(at.x() + (x if upright else y), at.y() + (y if upright else x))
                    for x, y in corners
                ]
                painter.drawPolygon(QPolygonF(shape))
        words = attempt.written(key)
        x = min(max(at.x(), self.plot.left() + 30), self.plot.right() - 18)
        above, below = (pill_box(x, at.y() + y, words, SUPPORT_PX, 600) for y in (-29, 29))
        free_above = above.top() > 2 and not any(above.intersects(t) for t in taken)
        box = above if free_above or below.bottom() > self.height() - 30 else below
        paint.pill(x, box.center().y(), words, theme.on_accent, SUPPORT_PX, 600, ground=theme.b)
        return box

    # pointer and keys

    def hit(self, at: QPointF) -> Any:
        attempt = self.attempt
        if attempt is None or attempt.locked or not attempt.keys:
            return None
        near = min(attempt.keys, key=lambda key: abs(self.x_of(key) - at.x()))
        reach = 26.0 if len(attempt.keys) > 1 else self.plot.width()
        inside = self.plot.adjusted(-20, -20, 20, 20).contains(at)
        return near if inside and abs(self.x_of(near) - at.x()) <= reach else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        key = self.hit(event.position())
        if event.button() == Qt.MouseButton.LeftButton and key is not None:
            self.dragged_key, self.selected = key, self._keys().index(key)
            self._drag(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.dragged_key is not None:
            self._drag(event.position())
            return
        over = self.hit(event.position()) is not None
        self.setCursor(Qt.CursorShape.OpenHandCursor if over else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.dragged_key = None
        self.update()

    def _drag(self, at: QPointF) -> None:
        key = self.dragged_key
        assert self.attempt is not None and key is not None
        value = self.along.value(at.x()) if key == "shift" else self.upward.value(at.y())
        self._put(key, value)

    def _keys(self) -> tuple[Key, ...]:
        return self.attempt.keys if self.attempt else ()

    def _put(self, key: Key, value: float) -> None:
        assert self.attempt is not None
        self.attempt.put(key, value)
        self._describe()
        self.update()
        self.moved.emit()

    def _describe(self) -> None:
        attempt, key = self.attempt, self.marker()
        if attempt is not None and key is not None:
            self.setAccessibleDescription(f"{attempt.named(key)}: {attempt.written(key)}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        attempt, key, pressed = self.attempt, self.marker(), Qt.Key(event.key())
        if attempt is None or key is None or attempt.locked:
            super().keyPressEvent(event)
            return
        ahead = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(pressed, 0)
        up = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(pressed, 0)
        if key == "shift":
            ahead, up = 0, ahead or up
        if ahead:
            self.selected = min(max(self.selected + ahead, 0), len(self._keys()) - 1)
            self._describe()
            self.update()
        elif up:
            coarse = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._put(key, self._nudged(attempt, key, up, coarse))
        elif pressed in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        else:
            super().keyPressEvent(event)

    @staticmethod
    def _nudged(attempt: Attempt, key: Key, up: int, coarse: bool) -> float:
        value = attempt.guesses[key]
        if key == "shift":
            return value + up * max(1, round(value * (0.2 if coarse else 0.02)))
        if attempt.known.word.share:
            return value + up * (0.1 if coarse else 0.01)
        return value * (_COARSE if coarse else _NUDGE) ** up
