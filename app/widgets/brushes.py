"""Brushes for the areas of a regime: small repeated images, for painting on a screen."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen, QPolygonF

from app.drawing.shapes import (
    BUBBLE_PX,
    DOTS_PX,
    HATCH_PX,
    IDLE_PX,
    REFUSED_PX,
    ZIGZAG_PX,
    ZIGZAG_WIDE,
)
from app.theme import Theme, mixed


def faint(colour: str, opacity: float) -> QColor:
    """A colour with an opacity."""
    color = QColor(colour)
    color.setAlphaF(opacity)
    return color


@lru_cache(maxsize=256)
def pattern_brushes(
    theme: Theme, kind: str, ratio: float, strength: float = 1.0
) -> tuple[QBrush, ...]:
    """The brushes that fill an area of a kind, painted over each other: background, then pattern.

    A kind is a regime's name, "idle", "bubble", "refused" or "#RRGGBB". `ratio` is the device
    pixel ratio; `strength` mixes the kind's colour with the background.
    """
    ground = theme.bg1
    if kind.startswith("#"):
        return (QBrush(faint(kind, strength)),)
    if kind == "refused":
        lines = _hatch(QColor(theme.line2), REFUSED_PX, 1.0, ratio)
        return QBrush(QColor(theme.bg0)), lines
    if kind == "idle":
        fill = theme.overhead.fill
        lines = _hatch(QColor(mixed(fill, ground, 0.5 * strength)), IDLE_PX, 1.0, ratio)
        return QBrush(QColor(mixed(fill, ground, 0.10 * strength))), lines
    if kind == "bubble":
        lines = _hatch(QColor(mixed(theme.ink3, ground, 0.55 * strength)), BUBBLE_PX, 1.0, ratio)
        return QBrush(QColor(ground)), lines
    fill = theme.regime(kind).fill
    strong = QColor(mixed(fill, ground, strength))
    if kind == "compute":
        return (QBrush(strong),)
    if kind == "memory":
        return QBrush(QColor(mixed(fill, ground, 0.45 * strength))), _dots(strong, ratio)
    if kind == "communication":
        below = QColor(mixed(theme.zigzag_ground, ground, strength))
        return QBrush(below), _zigzag(strong, ratio)
    return (
        QBrush(QColor(mixed(fill, ground, 0.34 * strength))),
        _hatch(strong, HATCH_PX, 2.0, ratio),
    )


def _tile(pitch: float, ratio: float, high_px: float | None = None) -> tuple[QImage, QPainter]:
    side, high = round(pitch * ratio), round((high_px or pitch) * ratio)
    image = QImage(side, high, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.scale(side / pitch, high / (high_px or pitch))
    return image, painter


def _brush(image: QImage, pitch: float) -> QBrush:
    image.setDevicePixelRatio(image.width() / pitch)
    return QBrush(image)


def _hatch(colour: QColor, pitch: float, wide: float, ratio: float) -> QBrush:
    image, painter = _tile(pitch, ratio)
    painter.setPen(QPen(colour, wide))
    for start in (-pitch, 0.0, pitch):  # strips of neighbouring tiles fill the corners
        painter.drawLine(QPointF(start - 1, pitch + 1), QPointF(start + pitch + 1, -1))
    painter.end()
    return _brush(image, pitch)


def _zigzag(colour: QColor, ratio: float) -> QBrush:
    wide, high = ZIGZAG_PX
    image, painter = _tile(wide, ratio, high)
    painter.setPen(QPen(colour, ZIGZAG_WIDE))
    low, top = 0.79 * high, 0.21 * high
    places = (-wide / 2, top), (0.0, low), (wide / 2, top), (wide, low), (1.5 * wide, top)
    painter.drawPolyline(QPolygonF([QPointF(x, y) for x, y in places]))
    painter.end()
    return _brush(image, wide)


def _dots(colour: QColor, ratio: float) -> QBrush:
    image, painter = _tile(DOTS_PX, ratio)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    half = DOTS_PX / 2
    for x, y in ((0, 0), (DOTS_PX, 0), (0, DOTS_PX), (DOTS_PX, DOTS_PX), (half, half)):
        painter.drawEllipse(QPointF(x, y), 1.2, 1.2)
    painter.end()
    return _brush(image, DOTS_PX)
