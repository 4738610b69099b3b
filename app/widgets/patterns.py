"""Patterns and marks of the regimes, in pixels."""

from __future__ import annotations

from math import ceil, floor

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
)

from app.drawing.colours import Mark
from app.drawing.shapes import (
    BUBBLE_PX,
    DOTS_PX,
    HATCH_PX,
    ZIGZAG_PX,
    ZIGZAG_WIDE,
    corners,
)
from app.theme import Theme, mixed


def fill_pattern(
    painter: QPainter,
    outline: QPainterPath,
    theme: Theme,
    kind: str,
    strength: float = 1.0,
    ground: bool = True,
) -> None:
    """Fill a path with the pattern of a kind (a regime, "refused" or "#RRGGBB"), over its own
    background if `ground`."""
    if kind.startswith("#"):
        colour = QColor(kind)
        colour.setAlphaF(strength)
        painter.fillPath(outline, colour)
        return
    if kind == "refused":
        painter.fillPath(outline, QColor(theme.bg0))
        _hatch(painter, outline, QColor(theme.line2), 10.0, 1.0)
        return
    if kind == "bubble":
        if ground:
            painter.fillPath(outline, QColor(theme.bg1))
        colour = QColor(mixed(theme.ink3, theme.bg1, 0.55 * strength))
        _hatch(painter, outline, colour, BUBBLE_PX, 1.0)
        return
    fill = theme.regime(kind).fill
    if kind == "compute":
        painter.fillPath(outline, QColor(mixed(fill, theme.bg1, strength)))
    elif kind == "memory":
        if ground:
            painter.fillPath(outline, QColor(mixed(fill, theme.bg1, 0.45 * strength)))
        _dots(painter, outline, QColor(mixed(fill, theme.bg1, strength)))
    elif kind == "communication":
        if ground:
            painter.fillPath(outline, QColor(mixed(theme.zigzag_ground, theme.bg1, strength)))
        _zigzags(painter, outline, QColor(mixed(fill, theme.bg1, strength)))
    else:
        if ground:
            painter.fillPath(outline, QColor(mixed(fill, theme.bg1, 0.34 * strength)))
        _hatch(painter, outline, QColor(mixed(fill, theme.bg1, strength)), HATCH_PX, 2.0)


_SIMPLE = 400
"""Number of corners up to which a pattern is cut exactly to its outline. Above this number it is
clipped, which some SVG readers ignore."""


def _hatch(
    painter: QPainter, outline: QPainterPath, colour: QColor, pitch: float, width: float
) -> None:
    """Fill an outline with strips from the lower left to the upper right."""
    box = outline.boundingRect()
    top, bottom, wide = box.top(), box.bottom(), width * 2**0.5
    first, last = floor((box.left() + top) / pitch), ceil((box.right() + bottom) / pitch)
    strips = QPainterPath()
    for place in (i * pitch for i in range(first, last + 1)):
        corners = [
            (place - top, top),
            (place - top + wide, top),
            (place - bottom + wide, bottom),
            (place - bottom, bottom),
        ]
        strips.addPath(polygon(corners))
    if outline.elementCount() < _SIMPLE:
        painter.fillPath(strips.intersected(outline), colour)
        return
    painter.save()
    painter.setClipPath(outline, Qt.ClipOperation.IntersectClip)
    painter.fillPath(strips, colour)
    painter.restore()


def _dots(painter: QPainter, outline: QPainterPath, colour: QColor) -> None:
    """Fill an outline with dots on a grid rotated by 45°; dots centred outside are omitted."""
    box = outline.boundingRect()
    half = DOTS_PX / 2
    points = [
        QPointF(column * DOTS_PX + (half if row % 2 else 0), row * half)
        for row in range(floor(box.top() / half), ceil(box.bottom() / half) + 1)
        for column in range(floor(box.left() / DOTS_PX) - 1, ceil(box.right() / DOTS_PX) + 1)
    ]
    painter.save()
    pen = QPen(colour, 2.4)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    if outline.elementCount() < _SIMPLE:
        points = [point for point in points if outline.contains(point)]
    else:
        painter.setClipPath(outline, Qt.ClipOperation.IntersectClip)
    painter.drawPoints(points)
    painter.restore()


def _zigzags(painter: QPainter, outline: QPainterPath, colour: QColor) -> None:
    """Fill an outline with zigzags, clipped to it."""
    box = outline.boundingRect()
    wide, high = ZIGZAG_PX
    painter.save()
    painter.setClipPath(outline, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(colour, ZIGZAG_WIDE))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    first, last = floor(2 * box.left() / wide) - 1, ceil(2 * box.right() / wide) + 1
    for row in range(floor(box.top() / high), ceil(box.bottom() / high) + 1):
        places = [
            QPointF(n * wide / 2, (row + (0.21 if n % 2 else 0.79)) * high)
            for n in range(first, last + 1)
        ]
        painter.drawPolyline(QPolygonF(places))
    painter.restore()


def mark_path(regime: Mark | None, radius: float = 1.0) -> QPainterPath:
    """The mark of a regime around the origin: triangle, circle, square or diamond of equal area; a
    circle if there is no regime."""
    path = QPainterPath()
    outline = corners(regime, radius)
    if outline:
        path.addPolygon(QPolygonF([QPointF(x, y) for x, y in outline]))
        path.closeSubpath()
    else:
        path.addEllipse(QPointF(0, 0), radius, radius)
    return path


def polygon(points: list[tuple[float, float]]) -> QPainterPath:
    """A closed path through points."""
    path = QPainterPath()
    path.addPolygon(QPolygonF([QPointF(x, y) for x, y in points]))
    path.closeSubpath()
    return path
