"""A layout that places widgets as a paragraph places its words."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

_PUNCTUATION = ",.;:"


class FlowLayout(QLayout):
    """Widgets from left to right, wrapped into lines; a widget whose text begins with punctuation
    follows the previous widget without a gap."""

    def __init__(self, parent: QWidget | None = None, gap: int = 6, line_gap: int = 6) -> None:
        self._items: list[QLayoutItem] = []
        self._measured: list[_Measured] | None = None
        self._heights: dict[int, int] = {}
        super().__init__(parent)
        self.gap, self.line_gap = gap, line_gap

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)
        self.invalidate()

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not 0 <= index < len(self._items):
            return None
        item = self._items.pop(index)
        self.invalidate()
        return item

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = self._arrange(QRect(0, 0, width, 0), move=False)
        return self._heights[width]

    def invalidate(self) -> None:
        self._measured = None
        self._heights.clear()
        super().invalidate()

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        return QSize(max((one.size.width() for one in self._measure()), default=0), 0)

    def _arrange(self, rect: QRect, move: bool) -> int:
        """Place the items, each in the middle of its line. Returns the height."""
        lines: list[list[tuple[_Measured, int]]] = [[]]
        x = 0
        for one in self._measure():
            wide = one.size.width()
            gap = 0 if not lines[-1] else 1 if one.closes else self.gap
            if lines[-1] and x + gap + wide > rect.width() and not one.closes:
                lines.append([])
                x = gap = 0
            lines[-1].append((one, x + gap))
            x += gap + wide
        y = rect.top()
        for line in lines:
            high = max((one.size.height() for one, _ in line), default=0)
            for one, left in line:
                if move:
                    at = QPoint(rect.left() + left, y + (high - one.size.height()) // 2)
                    one.item.setGeometry(QRect(at, one.size))
            y += high + self.line_gap
        return y - rect.top() - self.line_gap

    def _measure(self) -> list[_Measured]:
        """The items with their sizes, cached until one of them changes."""
        if self._measured is None:
            self._measured = [_Measured(i, i.sizeHint(), _close(i)) for i in self._items]
        return self._measured


class _Measured(NamedTuple):
    """An item with its size; `closes` if it begins with punctuation."""

    item: QLayoutItem
    size: QSize
    closes: bool


def _close(item: QLayoutItem) -> bool:
    widget = item.widget()
    return widget is not None and str(widget.property("text") or "x")[:1] in _PUNCTUATION
