"""A translucent cover that dims the figures of an earlier scenario."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme import Theme
from app.widgets.brushes import faint

OPACITY = 0.6
"""Opacity of the figures of an earlier scenario."""


class Veil(QWidget):
    """Dims a widget on a panel's background to `OPACITY`; mouse events pass through."""

    def __init__(self, over: QWidget, theme: Theme) -> None:
        super().__init__(over)
        self.theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        over.installEventFilter(self)
        self.hide()

    def put(self, stale: bool) -> None:
        """Show or hide the veil."""
        if stale:
            self._cover()
            self.raise_()
        self.setVisible(stale)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._cover()
        return False

    def _cover(self) -> None:
        over = self.parentWidget()
        if over is not None:
            self.setGeometry(over.rect())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), faint(self.theme.bg1, 1 - OPACITY))
        painter.end()
