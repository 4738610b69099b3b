"""A canvas that shows a drawing, and picks its spots."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QPointF, QTimer
from PySide6.QtGui import QColor, QHideEvent, QImage, QPainter, QShowEvent

from app.drawing.items import Item
from app.drawing.picture import Drawing
from app.theme import Theme
from app.widgets.canvas import Canvas
from app.widgets.drawn import render
from app.widgets.paint import Paint

_DROP_MS = 60_000
"""Time for which the picture of a hidden canvas is kept: about 1 MB each."""


@dataclass(frozen=True)
class _Picture:
    """A drawing painted as pixels, and its theme."""

    drawn: Drawing
    theme: Theme
    image: QImage


class DrawingCanvas(Canvas):
    """Caches the drawing by its size and the value of `depends_on`; call `redraw` after the data
    has changed. `over` is the key of the spot under the pointer, for which `overlay` and `card` can
    add items. Colours are roles, so the drawing does not depend on the theme.
    A canvas also caches the picture of its drawing: the pointer, a veil or a selection only copies
    it. The picture is dropped `_DROP_MS` after the canvas is hidden."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme, name)
        self._drawn: Drawing | None = None
        self._drawn_for: object = None
        self._picture: _Picture | None = None
        self._dropping = QTimer(self, singleShot=True, interval=_DROP_MS)
        self._dropping.timeout.connect(self._drop)

    @abstractmethod
    def drawing(self, width: float, height: float) -> Drawing | None:
        """The drawing for a size in pixels; None if there is no data."""

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
        if drawn is None:
            return
        ratio = self.devicePixelRatioF()
        if paint.vector or paint.ratio != ratio or not ratio.is_integer():
            render(drawn.items, paint)  # an export, or a scale at which a copy would blur
        else:
            paint.painter.drawImage(QPointF(0, 0), self._pixels(drawn, int(ratio)))
        render(self.overlay(), paint)

    def _pixels(self, drawn: Drawing, ratio: int) -> QImage:
        """The drawing on its background, as pixels."""
        theme, picture = self.theme, self._picture
        if picture is None or picture.drawn is not drawn or picture.theme is not theme:
            size = self.size() * ratio
            image = picture.image if picture else QImage()
            if image.size() != size:  # else painted over: a new image of this size costs 0.2 ms
                image = QImage(size, QImage.Format.Format_RGB32)
            image.setDevicePixelRatio(ratio)
            image.fill(QColor(self.theme.bg1))
            painter = QPainter(image)
            render(drawn.items, Paint(painter, theme))
            painter.end()
            picture = self._picture = _Picture(drawn, theme, image)
        return picture.image

    @property
    def has_picture(self) -> bool:
        """Whether the canvas keeps a picture, because it was painted not long ago."""
        return self._picture is not None

    def prepare(self) -> None:
        """Paint the picture of the drawing, which the next paint event then only copies."""
        drawn, ratio = self.drawn, self.devicePixelRatioF()
        if drawn is not None and ratio.is_integer():
            self._pixels(drawn, int(ratio))

    def hideEvent(self, event: QHideEvent) -> None:
        self._dropping.start()
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        self._dropping.stop()
        super().showEvent(event)

    def _drop(self) -> None:
        self._picture = None

    def hit(self, at: QPointF) -> Any:
        spot = self.drawn.pick(at.x(), at.y()) if self.drawn else None
        return spot.key if spot else None
