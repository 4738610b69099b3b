"""Lines through parallel axes: one a combination, in its regime's colour; a brush on an axis keeps
those that go through it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent

from app.theme import LABEL_PX, SUPPORT_PX, Theme, mixed
from app.views.canvas import Canvas
from app.views.combinations.lines import Lines
from app.views.combinations.table import Column, Table
from app.views.paint import Paint
from app.views.scale import Floats, Scale

_LEFT, _RIGHT, _TOP, _BOTTOM, _REACH = 70.0, 70.0, 40.0, 20.0, 26.0
_TICKS = 4
Brush = tuple[float, float]


class LinesCanvas(Canvas):
    """`brushes` are kept intervals by column. Dragging along an axis brushes it, a click lets it
    go; arrows go from axis to axis and move its brush, Delete lets go. `brushed` says so."""

    brushed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Every combination as a line through its values and figures")
        self.table: Table | None = None
        self.lines = Lines(np.zeros(0, np.int64))
        self.brushes: dict[int, Brush] = {}
        self.axis = 0
        self.stale = False
        self._from: tuple[int, float] | None = None

    def show_table(self, table: Table) -> None:
        """Draw these; brushes stay where the columns are the same."""
        before = [c.name for c in self.table.columns] if self.table else []
        if [c.name for c in table.columns] != before:
            self.brushes, self.axis = {}, 0
        self.table, self.lines, self.stale = table, Lines(table.regimes), False
        self.update()

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which rows go through every brush."""
        assert self.table is not None
        found = np.ones(len(self.table), np.bool_)
        for at, (low, high) in self.brushes.items():
            values = self.table.columns[at].values
            found &= (values >= low) & (values <= high)
        return found

    def scale(self, column: Column) -> Scale:
        """A column's values in pixels, up: choices evenly, figures by factors."""
        foot, top = self.height() - _BOTTOM, _TOP
        if column.words:
            last = max(1, len(column.words) - 1)
            return Scale(0, last, foot - 8, top + 8)
        some = column.values[column.values > 0]
        low, high = (float(some.min()), float(some.max())) if some.size else (1.0, 2.0)
        return Scale(low / 1.05, max(high, 1.001 * low) * 1.05, foot, top, True)

    def across(self, at: int) -> float:
        """Where an axis stands."""
        count = len(self.table.columns) if self.table else 2
        return _LEFT + at * (self.width() - _LEFT - _RIGHT) / max(1, count - 1)

    # painting

    def draw(self, paint: Paint) -> None:
        theme, table = self.theme, self.table
        if table is None or not len(table):
            words = "Predicting every combination …" if table is None else "No combination runs."
            paint.text(self.width() / 2, self.height() / 2, words, theme.ink3, align=0.5)
            return
        paint.painter.setOpacity(0.6 if self.stale else 1.0)
        ys = np.stack([self.scale(c).many(c.values) for c in table.columns], axis=1)
        xs = [self.across(at) for at in range(len(table.columns))]
        brushes = tuple(sorted(self.brushes.items()))
        self.lines.draw(paint, self.size(), xs, ys, self.kept, brushes)
        for at, column in enumerate(table.columns):
            self._axis(paint, at, column)
        paint.painter.setOpacity(1.0)

    def _axis(self, paint: Paint, at: int, column: Column) -> None:
        theme, x, scale = self.theme, self.across(at), self.scale(column)
        here = at == self.axis and self.hasFocus()
        foot = self.height() - _BOTTOM
        paint.line([(x, _TOP), (x, foot)], theme.ink if here else theme.line2, 2.0 if here else 1.4)
        paint.text(x, _TOP - 22, column.name, theme.ink, SUPPORT_PX, 600, 0.5)
        places = (
            [float(p) for p in range(len(column.words))] if column.words
            else np.geomspace(scale.low * 1.05, scale.high / 1.05, _TICKS).tolist()
        )  # fmt: skip
        room = (foot - _TOP) / 13
        step = max(1, -(-len(places) // max(1, int(room))))
        for value in places[::step]:
            words = column.said(value)
            side = -7 if column.words else 7
            paint.pill(x + side, scale.at(value), words, theme.ink2, LABEL_PX, 400,
                       1.0 if side < 0 else 0.0)  # fmt: skip
        if at in self.brushes:
            low, high = self.brushes[at]
            top, bottom = max(_TOP, scale.at(high)), min(foot, scale.at(low))
            box = QRectF(x - 6, top - 3, 12, bottom - top + 6)
            paint.area(box, mixed(theme.b, theme.bg1, 0.35), radius=3)
            paint.box(box, "", theme.b, 3, wide=1.6)

    # the pointer and the keys

    def axis_at(self, at: QPointF) -> int | None:
        """The axis near a place."""
        if self.table is None or not _TOP - 12 <= at.y() <= self.height() - _BOTTOM + 12:
            return None
        away = [abs(self.across(n) - at.x()) for n in range(len(self.table.columns))]
        return int(np.argmin(away)) if min(away) < _REACH else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        axis = self.axis_at(event.position())
        if axis is not None and event.button() == Qt.MouseButton.LeftButton:
            self.axis, self._from = axis, (axis, event.position().y())
            self.let_go(axis)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        near = self.axis_at(event.position()) is not None
        self.setCursor(Qt.CursorShape.SizeVerCursor if near else Qt.CursorShape.ArrowCursor)
        if self._from is None or self.table is None:
            return
        axis, begun = self._from
        if abs(event.position().y() - begun) > 3:
            scale = self.scale(self.table.columns[axis])
            ends = sorted((scale.value(begun), scale.value(event.position().y())))
            self.brush(axis, ends[0], ends[1])

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._from = None

    def brush(self, axis: int, low: float, high: float) -> None:
        """Keep what goes through an interval of an axis."""
        self.brushes[axis] = (low, high)
        self.brushed.emit()
        self.update()

    def let_go(self, axis: int) -> None:
        """Keep everything of an axis."""
        if self.brushes.pop(axis, None) is not None:
            self.brushed.emit()
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        table, key = self.table, Qt.Key(event.key())
        across = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
        up = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        if table is None:
            super().keyPressEvent(event)
        elif key in across:
            self.axis = min(max(self.axis + across[key], 0), len(table.columns) - 1)
            self.update()
        elif key in up:
            self._step(table.columns[self.axis], up[key])
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.let_go(self.axis)
        elif key == Qt.Key.Key_Escape:
            for axis in list(self.brushes):
                self.let_go(axis)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.pressed_on.emit(None)
        else:
            super().keyPressEvent(event)

    def _step(self, column: Column, step: int) -> None:
        """The brush on the next value, or the next tenth of a figure's range."""
        if column.words:
            now = self.brushes.get(self.axis, (-step / 2 if step > 0 else len(column.words), 0))[0]
            at = min(max(round(now + 0.4) + (step if self.axis in self.brushes else 0), 0),
                     len(column.words) - 1)  # fmt: skip
            self.brush(self.axis, at - 0.4, at + 0.4)
            return
        scale = self.scale(column)
        ends: Floats = np.geomspace(scale.low, scale.high, 11)
        low = self.brushes.get(self.axis, (ends[0] if step > 0 else ends[9], 0.0))[0]
        place = int(np.argmin(np.abs(np.log(ends / low))))
        place = min(max(place + (step if self.axis in self.brushes else 0), 0), 9)
        self.brush(self.axis, float(ends[place]), float(ends[place + 1]))
