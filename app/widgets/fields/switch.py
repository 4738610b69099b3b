"""A switch: on or off."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton

from app.theme import Theme
from app.widgets.paint import Paint


class Switch(QAbstractButton):
    """A switch with a knob, in the colours of `theme`. Space changes it."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.theme = theme
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFixedSize(self.sizeHint())
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def sizeHint(self) -> QSize:
        return QSize(36, 22)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint, theme, on = Paint(painter, self.theme), self.theme, self.isChecked()
        body = QRectF(4, 4, 28, 14)
        paint.box(body, theme.b if on else theme.bg3, theme.b if on else theme.line2, 7)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.on_accent if on else theme.ink2))
        painter.drawEllipse(QPointF(25 if on else 11, 11), 4.4, 4.4)
        if self.hasFocus():
            paint.ring(QRectF(self.rect()).adjusted(1, 1, -1, -1), 10)
        painter.end()
