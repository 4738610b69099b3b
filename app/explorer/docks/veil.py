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
    """Dims a widget on a panel's background to `OPACITY` while `dims`; mouse events pass through.

    The veil is never hidden: hiding or showing a widget lays out all parents up to the window,
    which takes longer than painting them."""

    def __init__(self, over: QWidget, theme: Theme) -> None:
        super().__init__(over)
        self.theme = theme
        self.dims = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        over.installEventFilter(self)

    def put(self, stale: bool) -> None:
        """Start or stop dimming."""
        if stale and not self.dims:
            self._cover()
            self.raise_()
        if stale != self.dims:
            self.dims = stale
            self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._cover()
        return False

    def _cover(self) -> None:
        over = self.parentWidget()
        if over is not None:
            self.setGeometry(over.rect())

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.dims:
            return
        painter = QPainter(self)
        painter.fillRect(self.rect(), faint(self.theme.bg1, 1 - OPACITY))
        painter.end()
