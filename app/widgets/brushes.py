"""Brushes for the areas of a regime: small repeated images, for painting on a screen."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen

from app.drawing.shapes import DOTS_PX, HATCH_PX, IDLE_PX, REFUSED_PX
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

    A kind is a regime's name, "idle", "refused" or "#RRGGBB". `ratio` is the device pixel ratio;
    `strength` mixes the kind's colour with the background.
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
    fill = theme.regime(kind).fill
    strong = QColor(mixed(fill, ground, strength))
    if kind == "compute":
        return (QBrush(strong),)
    if kind == "memory":
        return QBrush(QColor(mixed(fill, ground, 0.45 * strength))), _dots(strong, ratio)
    return (
        QBrush(QColor(mixed(fill, ground, 0.34 * strength))),
        _hatch(strong, HATCH_PX, 2.0, ratio),
    )


def _tile(pitch: float, ratio: float) -> tuple[QImage, QPainter]:
    side = round(pitch * ratio)
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.scale(side / pitch, side / pitch)
    return image, painter


def _brush(image: QImage, pitch: float) -> QBrush:
    image.setDevicePixelRatio(image.width() / pitch)
    return QBrush(image)


def _hatch(colour: QColor, pitch: float, wide: float, ratio: float) -> QBrush:
    image, painter = _tile(pitch, ratio)
    painter.setPen(QPen(colour, wide))
    for start in (-pitch, 0.0, pitch):  # the neighbouring strips reach into the corners
        painter.drawLine(QPointF(start - 1, pitch + 1), QPointF(start + pitch + 1, -1))
    painter.end()
    return _brush(image, pitch)


def _dots(colour: QColor, ratio: float) -> QBrush:
    image, painter = _tile(DOTS_PX, ratio)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    half = DOTS_PX / 2
    for x, y in ((0, 0), (DOTS_PX, 0), (0, DOTS_PX), (DOTS_PX, DOTS_PX), (half, half)):
        painter.drawEllipse(QPointF(x, y), 1.2, 1.2)
    painter.end()
    return _brush(image, DOTS_PX)
