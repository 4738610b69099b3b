"""A layout that places widgets as a paragraph places its words."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

_PUNCTUATION = ",.;:"


class FlowLayout(QLayout):
    """Widgets from left to right, wrapped into lines; a widget whose text begins with punctuation
    follows the previous widget without a gap."""

    def __init__(self, parent: QWidget | None = None, gap: int = 6, line_gap: int = 6) -> None:
        super().__init__(parent)
        self.gap, self.line_gap = gap, line_gap
        self._items: list[QLayoutItem] = []

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        sizes = [item.sizeHint() for item in self._items]
        return QSize(max((s.width() for s in sizes), default=0), 0)

    def _arrange(self, rect: QRect, move: bool) -> int:
        """Place the items, each in the middle of its line. Returns the height."""
        lines: list[list[tuple[QLayoutItem, int]]] = [[]]
        x = 0
        for item in self._items:
            wide = item.sizeHint().width()
            gap = 0 if not lines[-1] else 1 if _close(item) else self.gap
            if lines[-1] and x + gap + wide > rect.width() and not _close(item):
                lines.append([])
                x = gap = 0
            lines[-1].append((item, x + gap))
            x += gap + wide
        y = rect.top()
        for line in lines:
            high = max((item.sizeHint().height() for item, _ in line), default=0)
            for item, left in line:
                size = item.sizeHint()
                at = QPoint(rect.left() + left, y + (high - size.height()) // 2)
                if move:
                    item.setGeometry(QRect(at, size))
            y += high + self.line_gap
        return y - rect.top() - self.line_gap


def _close(item: QLayoutItem) -> bool:
    widget = item.widget()
    return widget is not None and str(widget.property("text") or "x")[:1] in _PUNCTUATION
