"""The background image of a regime map: colours, patterns, and hatching for what does not fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter

from app.scenes.map_field import MapField
from app.theme import Theme
from app.widgets.brushes import pattern_brushes

_PATTERN = 0.42  # how much of a regime's pattern shows on its colour


def background(field: MapField, theme: Theme, size: QSize, ratio: float) -> QImage:
    """Return a map's image of a size in pixels; values grow to the right and upwards."""
    image = _blank(size, ratio)
    whole = QRectF(0, 0, size.width(), size.height())
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, field.smooth)
    colours = np.ascontiguousarray(field.colours(theme)[::-1])
    high, wide = colours.shape[:2]
    painter.drawImage(
        whole, QImage(colours.data, wide, high, 3 * wide, QImage.Format.Format_RGB888)
    )
    for regime in ("memory", "overhead"):
        pattern = pattern_brushes(theme, regime, ratio)[-1:]
        _overlay(painter, field.inside(regime), pattern, size, ratio, _PATTERN)
    hatched = pattern_brushes(theme, "refused", ratio)
    _overlay(painter, field.over | ~field.known, hatched, size, ratio, 1.0)
    painter.end()
    return image


def _blank(size: QSize, ratio: float) -> QImage:
    image = QImage(size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    return image


def _overlay(
    painter: QPainter,
    inside: NDArray[np.bool_],
    brushes: tuple[object, ...],
    size: QSize,
    ratio: float,
    opacity: float,
) -> None:
    """Paint brushes over the cells that are True in `inside`."""
    if not inside.any():
        return
    whole = QRectF(0, 0, size.width(), size.height())
    layer = _blank(size, ratio)
    on = QPainter(layer)
    for brush in brushes:
        on.fillRect(whole, brush)  # pyright: ignore[reportArgumentType, reportCallIssue]
    mask = np.ascontiguousarray(inside[::-1]).astype(np.uint8) * 255
    high, wide = mask.shape
    on.setCompositionMode(QPainter.CompositionMode.CompositionMode_DestinationIn)
    on.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, wide >= 100 and high >= 100)
    on.drawImage(whole, QImage(mask.data, wide, high, wide, QImage.Format.Format_Alpha8))
    on.end()
    painter.setOpacity(opacity)
    painter.drawImage(whole, layer)
    painter.setOpacity(1.0)
