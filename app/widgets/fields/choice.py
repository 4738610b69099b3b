"""A combo box with an arrow in the colours of a theme. The wheel scrolls what is around it."""

from __future__ import annotations

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QComboBox

from app.theme import Theme


class Choice(QComboBox):
    """A combo box; the arrow is painted in the colours of `theme`."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.theme = theme
        self.setAccessibleName(name)
        self.setMaxVisibleItems(18)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self.theme.ink2), 1.6))
        x, y = self.width() - 15.0, self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x - 4, y), QPointF(x, y + 4), QPointF(x + 4, y)])
        painter.end()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # else scrolling the inspector would change the scenario
