"""Parallel coordinates: one line per combination, in its regime's colour, filtered by brushes on
the axes."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent

from app.views.combinations.axis import TOP, next_brush
from app.views.combinations.picture import LinesPicture


class LinesCanvas(LinesPicture):
    """Dragging along an axis brushes it, a click on the axis clears its brush, dragging its title
    moves it, and a click on a line selects its scenario. The arrow keys go from axis to axis (with
    Shift they move it) and move its brush, Delete clears the brush. `.` and `,` step through the
    matching lines, the fastest first, and Enter selects. V explains the next figure, G groups by
    the next axis."""

    brushed = Signal()
    cycled = Signal(bool)
    """The user asked for the next axis to group by (True) or the next figure to explain (False)."""
    reordered = Signal(list)
    """The names of the columns in their new order."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if event.button() != Qt.MouseButton.LeftButton or self.table is None:
            return
        axis = self.axis_at(at)
        if at.y() < TOP - 10:
            self.axis = self.nearest(at)
            self._dragged_title = self.axis, self.axis
        elif axis is not None:
            self.axis, self._brush_from = axis, (axis, at.y())
            self.clear_brush(axis)
        elif (row := self.hit(at)) is not None:
            self.pressed_on.emit(row)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._dragged_title is not None:
            self._dragged_title = self._dragged_title[0], self.nearest(at)
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

    def clear_brushes(self) -> None:
        """Remove all brushes."""
        for axis in list(self.brushes):
            self.clear_brush(axis)

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
            column = table.columns[self.axis]
            brush = self.brushes.get(self.axis)
            self.brush(self.axis, *next_brush(column, self.scale(column), brush, up[key]))
        elif key in walk:
            self._walk(walk[key])
        elif key in (Qt.Key.Key_G, Qt.Key.Key_V):
            self.cycled.emit(key == Qt.Key.Key_G)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.clear_brush(self.axis)
        elif key == Qt.Key.Key_Escape and (self.brushes or self.over is not None):
            self.show_over(None)
            self.clear_brushes()
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
