"""A canvas that shows a drawing, and picks its spots."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from PySide6.QtCore import QPointF

from app.drawing.items import Item
from app.drawing.picture import Drawing
from app.theme import Theme
from app.widgets.canvas import Canvas
from app.widgets.drawn import render
from app.widgets.paint import Paint


class DrawingCanvas(Canvas):
    """Caches the drawing by its size and the value of `depends_on`; call `redraw` after the data
    has changed. `over` is the key of the spot under the pointer, for which `overlay` and `card` can
    add items. Colours are roles, so the drawing does not depend on the theme."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme, name)
        self._drawn: Drawing | None = None
        self._drawn_for: object = None

    @abstractmethod
    def drawing(self, width: float, height: float) -> Drawing | None:
        """The drawing for a size in pixels; None without data."""

    def depends_on(self) -> object:
        """The state that the drawing depends on besides its size and the data, such as a
        selection."""
        return None

    def overlay(self) -> tuple[Item, ...]:
        """The items above the drawing for `over` and for a selection."""
        return ()

    def redraw(self) -> None:
        """Draw again."""
        self._drawn = None
        self.update()

    @property
    def drawn(self) -> Drawing | None:
        """The drawing at the current size."""
        size = float(self.width()), float(self.height())
        request = size, self.depends_on()
        if self._drawn is None or self._drawn_for != request:
            self._drawn, self._drawn_for = self.drawing(*size), request
        return self._drawn

    def draw(self, paint: Paint) -> None:
        drawn = self.drawn
        if drawn is not None:
            render(drawn.items, paint)
            render(self.overlay(), paint)

    def hit(self, at: QPointF) -> Any:
        spot = self.drawn.pick(at.x(), at.y()) if self.drawn else None
        return spot.key if spot else None
