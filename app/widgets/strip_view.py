"""A view of one canvas with a strip of controls above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.theme import Theme
from app.widgets.canvas import Canvas
from app.widgets.strip import Strip
from app.widgets.view import View

Painted = TypeVar("Painted", bound=Canvas)


class StripView(View):
    """A view that fills its `strip`, then adds its canvas with `below`."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.strip = Strip(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.strip)

    def below(self, canvas: Painted, pressed: Callable[[Any], None]) -> Painted:
        """Add the canvas, which takes the keyboard focus; `pressed` receives each pressed item."""
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.addWidget(canvas, 1)
        canvas.pressed_on.connect(pressed)
        self.setFocusProxy(canvas)
        return canvas

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.strip.restyle(theme)
        for canvas in self.findChildren(Canvas):
            canvas.restyle(theme)
