"""Parallel coordinates: one line per combination, in its regime's colour, filtered by brushes on
the axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent

from app.scenes.combinations.table import CombinationColumn, CombinationTable
from app.scenes.pixel_scale import Floats, Scale
from app.theme import Theme
from app.views.combinations.axis import FOOT, TOP, Brush, draw_axis, scale_of, staggered
from app.views.combinations.lines import Lines
from app.widgets.canvas import CARD_LINE, Canvas, Card
from app.widgets.paint import Paint

_LEFT, _RIGHT, _REACH, _NEAR = 74.0, 74.0, 14.0, 6.0


class LinesCanvas(Canvas):
    """`brushes` maps columns to intervals; rows outside one are filtered out. `over` is the row of
    the line under the pointer or key.

    Dragging along an axis brushes it, a click on the axis clears its brush, dragging its title
    moves it, a click on a line selects its scenario. The arrow keys go from axis to axis (with
    Shift they move it) and move its brush, Delete clears the brush. `.` and `,` step through the
    matching lines, the fastest first, and Enter selects."""

    brushed = Signal()
    reordered = Signal(list)
    """The names of the columns in their new order."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Every combination as a line through its values and figures")
        self.table: CombinationTable | None = None
        self.lines = Lines(np.zeros(0, np.int64))
        self.brushes: dict[int, Brush] = {}
        self.fastest_first: NDArray[np.int64] = np.zeros(0, np.int64)
        self.axis = 0
        self.stale = False
        self._brush_from: tuple[int, float] | None = None
        self._dragged_title: tuple[int, int] | None = None

    def show_table(self, table: CombinationTable, fastest_first: NDArray[np.int64]) -> None:
        """Draw a table; `fastest_first` orders its rows. Brushes stay on unchanged columns."""
        before = self.table.columns if self.table else ()
        brushed = {before[at].name: (before[at].words, b) for at, b in self.brushes.items()}
        self.brushes = {
            at: brushed[c.name][1]
            for at, c in enumerate(table.columns)
            if c.name in brushed and brushed[c.name][0] == c.words
        }
        if [c.name for c in before] != [c.name for c in table.columns]:
            self._brush_from = self._dragged_title = None  # the dragged axis moved or vanished
        self.axis = min(self.axis, len(table.columns) - 1)
        self.table, self.lines, self.stale = table, Lines(table.regimes), False
        self.fastest_first, self.over = fastest_first, None
        self.update()

    @property
    def matching(self) -> NDArray[np.bool_]:
        """Whether each row passes through every brush."""
        assert self.table is not None
        rows = np.ones(len(self.table), np.bool_)
        for at, (low, high) in self.brushes.items():
            values = self.table.columns[at].values
            rows &= (values >= low) & (values <= high)
        return rows

    def scale(self, column: CombinationColumn) -> Scale:
        """The vertical scale of a column."""
        return scale_of(column, self.height())

    @property
    def apart(self) -> float:
        """Pixels between neighbouring axes."""
        count = len(self.table.columns) if self.table else 2
        return (self.width() - _LEFT - _RIGHT) / max(1, count - 1)

    def across(self, at: int) -> float:
        """The x coordinate of an axis."""
        return _LEFT + at * self.apart

    def heights(self, table: CombinationTable) -> Floats:
        """The y coordinates of rows at the axes [rows, columns]."""
        return np.stack([self.scale(c).many(c.values) for c in table.columns], axis=1)

    # painting

    def draw(self, paint: Paint) -> None:
        theme, table = self.theme, self.table
        if table is None or not len(table):
            words = "Predicting all combinations …" if table is None else "No combination can run."
            paint.text(self.width() / 2, self.height() / 2, words, theme.ink3, align=0.5)
            return
        paint.painter.setOpacity(0.6 if self.stale else 1.0)
        ys = self.heights(table)
        xs = [self.across(at) for at in range(len(table.columns))]
        names = tuple(column.name for column in table.columns)
        brushes = names, tuple(sorted(self.brushes.items()))
        self.lines.draw(paint, self.size(), xs, ys, self.matching, brushes)
        if self.over is not None:
            points = [(x, float(y)) for x, y in zip(xs, ys[int(self.over)], strict=True)]
            paint.line(points, theme.ink, 2.4, casing=theme.bg1)
        low = staggered(table.columns, self.apart)
        for at, column in enumerate(table.columns):
            here = at == self.axis and self.hasFocus()
            draw_axis(
                paint,
                column,
                xs[at],
                self.height(),
                self.apart,
                low and bool(at % 2),
                here,
                self.brushes.get(at),
            )
        if self._dragged_title is not None and self._dragged_title[0] != self._dragged_title[1]:
            x = self.across(self._dragged_title[1])
            paint.line([(x, 4), (x, self.height() - FOOT)], theme.b, 2.4)
        paint.painter.setOpacity(1.0)

    def card(self) -> Card | None:
        table = self.table
        if table is None or self.over is None:
            return None
        row = int(self.over)
        figures = [(c.name, c.value_text(float(c.values[row]))) for c in table.columns]
        rows = tuple(figures[: max(3, int((self.height() - 44) / CARD_LINE))])  # as many as fit
        regime = table.regime(row)
        return Card("Combination", rows, f"{regime}-bound", regime)

    def card_at(self) -> QPointF:
        return self.at if self.at.x() >= 0 else QPointF(self.width() / 2, TOP)

    # the pointer

    def axis_at(self, at: QPointF) -> int | None:
        """The axis near a point, or None."""
        if self.table is None or not TOP - 10 <= at.y() <= self.height() - FOOT + 10:
            return None
        near = self._nearest(at)
        return near if abs(self.across(near) - at.x()) < _REACH else None

    def hit(self, at: QPointF) -> int | None:
        """The row of the matching line at a point between two axes, or None."""
        table = self.table
        if (
            table is None
            or not len(table)
            or len(table.columns) < 2
            or self.axis_at(at) is not None
        ):
            return None
        place = (at.x() - _LEFT) / max(1.0, self.apart)
        left = min(max(int(place), 0), len(table.columns) - 2)
        rows = np.flatnonzero(self.matching)
        if not 0 <= place <= len(table.columns) - 1 or not rows.size:
            return None
        ends = [self.scale(c).many(c.values[rows]) for c in table.columns[left : left + 2]]
        away = np.abs(ends[0] + (ends[1] - ends[0]) * (place - left) - at.y())
        best = int(np.argmin(away))
        return int(rows[best]) if away[best] < _NEAR else None

    def _nearest(self, at: QPointF) -> int:
        count = len(self.table.columns) if self.table else 1
        return int(np.argmin([abs(self.across(n) - at.x()) for n in range(count)]))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if event.button() != Qt.MouseButton.LeftButton or self.table is None:
            return
        axis = self.axis_at(at)
        if at.y() < TOP - 10:
            self.axis = self._nearest(at)
            self._dragged_title = self.axis, self.axis
        elif axis is not None:
            self.axis, self._brush_from = axis, (axis, at.y())
            self.clear_brush(axis)
        elif (row := self.hit(at)) is not None:
            self.pressed_on.emit(row)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._dragged_title is not None:
            self._dragged_title = self._dragged_title[0], self._nearest(at)
            self.update()
            return
        if self._brush_from is None or self.table is None:
            near, title = self.axis_at(at) is not None, at.y() < TOP - 10
            shape = Qt.CursorShape.SizeVerCursor if near else Qt.CursorShape.ArrowCursor
            self.setCursor(Qt.CursorShape.SizeHorCursor if title else shape)
            super().mouseMoveEvent(event)
            return
        axis, start_y = self._brush_from
        if abs(at.y() - start_y) > 3:
            scale = self.scale(self.table.columns[axis])
            ends = sorted((scale.value(start_y), scale.value(at.y())))
            self.brush(axis, ends[0], ends[1])

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._brush_from, title, self._dragged_title = None, self._dragged_title, None
        if title is not None:
            self.move_axis(*title)

    # brushes and axes

    def brush(self, axis: int, low: float, high: float) -> None:
        """Keep only rows within an interval of an axis."""
        self.brushes[axis] = (low, high)
        self._rebrushed()

    def clear_brush(self, axis: int) -> None:
        """Remove the brush of an axis."""
        if self.brushes.pop(axis, None) is not None:
            self._rebrushed()
        self.update()

    def _rebrushed(self) -> None:
        self.over = None
        self.brushed.emit()
        self.update()

    def move_axis(self, axis: int, to: int) -> None:
        """Move an axis to another position."""
        if self.table is None or not 0 <= to < len(self.table.columns) or to == axis:
            return
        names = [column.name for column in self.table.columns]
        names.insert(to, names.pop(axis))
        self.axis = to
        self.reordered.emit(names)

    # the keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        table, key = self.table, Qt.Key(event.key())
        across = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
        up = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        walk = {Qt.Key.Key_Period: 1, Qt.Key.Key_Comma: -1}
        if table is None:
            super().keyPressEvent(event)
        elif key in across and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.move_axis(self.axis, self.axis + across[key])
        elif key in across:
            self.axis = min(max(self.axis + across[key], 0), len(table.columns) - 1)
            self.update()
        elif key in up:
            self._step(table.columns[self.axis], up[key])
        elif key in walk:
            self._walk(walk[key])
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.clear_brush(self.axis)
        elif key == Qt.Key.Key_Escape:
            self.show_over(None)
            for axis in list(self.brushes):
                self.clear_brush(axis)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.pressed_on.emit(self.over)
        else:
            super().keyPressEvent(event)

    def _walk(self, step: int) -> None:
        """Move to the next matching line, in order of throughput."""
        matching = self.matching
        rows = [row for row in self.fastest_first.tolist() if matching[row]]
        if rows:
            at = rows.index(self.over) + step if self.over in rows else 0
            self.at = QPointF(-1, -1)
            self.show_over(rows[min(max(at, 0), len(rows) - 1)])

    def _step(self, column: CombinationColumn, step: int) -> None:
        """Move the brush to the next value, or by a tenth of a figure's range."""
        if column.words:
            here = self.brushes.get(self.axis, (-step / 2 if step > 0 else len(column.words), 0))[0]
            at = min(
                max(round(here + 0.4) + (step if self.axis in self.brushes else 0), 0),
                len(column.words) - 1,
            )
            self.brush(self.axis, at - 0.4, at + 0.4)
            return
        scale = self.scale(column)
        ends: Floats = np.linspace(scale.low, scale.high, 11)
        if scale.log:  # between the smallest and largest value: the axis extends beyond both
            positive = column.values[column.values > 0]
            ends = np.geomspace(positive.min(), positive.max(), 11) if positive.size else ends
        low = self.brushes.get(self.axis, (ends[0] if step > 0 else ends[9], 0.0))[0]
        place = int(np.argmin(np.abs(ends - low)))
        place = min(max(place + (step if self.axis in self.brushes else 0), 0), 9)
        self.brush(self.axis, float(ends[place]), float(ends[place + 1]))
