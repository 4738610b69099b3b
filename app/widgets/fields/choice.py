"""A combo box with an arrow in the colours of a theme. The wheel scrolls the surrounding panel."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter

from app.theme import Theme

_LEFT_PX, _ARROW_PX = 9, 27
"""Width in pixels of the margin left of the text, and of the arrow right of it."""


class Choice(QComboBox):
    """A combo box; the arrow is painted in the colours of `theme`."""

    picked = Signal(object)
    """The data of the item that the user chose."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.theme = theme
        self.setAccessibleName(name)
        self.setMaxVisibleItems(18)
        self.activated.connect(self._pick)

    def _pick(self, index: int) -> None:
        self.picked.emit(self.itemData(index))

    def shown_text(self) -> str:
        """The current text, elided in its middle to the width of the box."""
        room, middle = self._text_box().width(), Qt.TextElideMode.ElideMiddle
        return self.fontMetrics().elidedText(self.currentText(), middle, room)

    def _text_box(self) -> QRect:
        return self.rect().adjusted(_LEFT_PX, 0, -_ARROW_PX, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.setPen(QColor(self.theme.ink if self.isEnabled() else self.theme.ink3))
        painter.drawText(self._text_box(), Qt.AlignmentFlag.AlignVCenter, self.shown_text())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self.theme.ink2), 1.6))
        x, y = self.width() - 15.0, self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x - 4, y), QPointF(x, y + 4), QPointF(x + 4, y)])
        painter.end()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # else scrolling the inspector would change the scenario
