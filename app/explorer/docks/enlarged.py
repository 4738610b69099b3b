"""A window with an enlarged chart: the wheel zooms, dragging pans, a double click fits the
chart."""

# pyright: reportUnknownMemberType=false
# pyqtgraph has no types: 4

from __future__ import annotations

from typing import Any

import pyqtgraph as pg  # pyright: ignore[reportMissingTypeStubs]
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPicture
from PySide6.QtWidgets import QWidget

from app.theme import Theme
from app.widgets.canvas import without_cards

_SIZE = QSize(1200, 800)
"""Maximum size of the window, which also fits on the screen and keeps the chart's proportions."""
_MARGIN = 0.02  # a multiple of the chart's size, if the screen has room


class _Chart(pg.GraphicsObject):
    """A snapshot of a widget as painter commands, taken when the window opens."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self._box = QRectF(widget.rect())
        self._picture = QPicture()
        painter = QPainter(self._picture)
        with without_cards(widget):
            widget.render(painter, QPoint())
        painter.end()

    def boundingRect(self) -> QRectF:
        return self._box

    def paint(self, painter: QPainter, option: Any, widget: Any = None) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawPicture(0, 0, self._picture)


class Enlarged(pg.GraphicsView):
    """The window of a chart; Escape closes it."""

    def __init__(self, chart: QWidget, title: str, theme: Theme) -> None:
        super().__init__(background=theme.bg1)
        self.setWindowTitle(f"{title} – Ridgepoint")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(f"{title}, enlarged")
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the view itself takes the keys
        room = _SIZE.boundedTo(self.screen().availableSize())
        self.resize(chart.size().scaled(room, Qt.AspectRatioMode.KeepAspectRatio))
        self.box: Any = pg.ViewBox(lockAspect=True, invertY=True, enableMenu=False)
        self.setCentralItem(self.box)
        self.box.addItem(_Chart(chart))
        self.fit()

    def fit(self) -> None:
        """Show the whole chart."""
        self.box.autoRange(padding=_MARGIN)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()
        event.accept()

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(ev)
