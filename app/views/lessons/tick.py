"""A circle with a tick once a target is reached."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme import Theme
from app.widgets.paint import Paint

_SIDE_PX = 20


class Tick(QWidget):
    """Hollow at first, filled with a tick once `checked`."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.checked = False
        self.setFixedSize(_SIDE_PX, _SIDE_PX)
        self.check(False)

    def check(self, checked: bool) -> None:
        """Tick or clear the circle."""
        self.checked = checked
        self.setAccessibleName("reached" if checked else "not reached yet")
        self.update()

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint, theme = Paint(painter, self.theme), self.theme
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        paint.box(box, theme.b if self.checked else theme.bg1,
                  theme.b if self.checked else theme.line2, box.width() / 2)  # fmt: skip
        if self.checked:
            x, y = box.center().x(), box.center().y()
            paint.line([(x - 4, y), (x - 1, y + 3.2), (x + 4.5, y - 3.6)], theme.on_accent, 1.8)
        painter.end()
