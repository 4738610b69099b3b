"""The undo and redo buttons of the header, named after the change that they undo or redo."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import QToolButton
from shiboken6 import isValid

_SIDE = 26


class HistoryButton(QToolButton):
    """A button with a curved arrow, for an action: undo, or redo if `forward`. It is enabled with
    its action, and painted in the text colour of the window."""

    def __init__(self, action: QAction, forward: bool) -> None:
        super().__init__()
        self.action_, self.forward = action, forward
        self.setFixedSize(_SIDE, _SIDE)
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        if not isValid(self.action_):
            return  # actions also emit `changed` when they are destroyed
        words, key = self.action_.text(), self.action_.shortcut().toString()
        self.setEnabled(self.action_.isEnabled())
        self.setAccessibleName(words)
        self.setToolTip(f"{words} ({key})" if key else words)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inks = self.palette()
        role = QPalette.ColorRole.Text if self.isEnabled() else QPalette.ColorRole.PlaceholderText
        painter.setOpacity(1.0 if self.isEnabled() else 0.55)
        painter.setPen(QPen(inks.color(QPalette.ColorGroup.Active, role), 1.6))
        if self.forward:
            painter.translate(self.width(), 0)
            painter.scale(-1, 1)
        middle = QPointF(self.width() / 2, self.height() / 2)
        box = QRectF(middle.x() - 5.5, middle.y() - 3, 11, 9)
        painter.drawArc(box, -80 * 16, 210 * 16)
        tip = QPointF(box.left() + 0.6, box.top() + 2.6)
        painter.drawPolyline(QPolygonF([tip + QPointF(0.4, -5), tip, tip + QPointF(5, 0.4)]))
        painter.end()
