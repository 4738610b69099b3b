"""Drawings on a screen, and as PNG files: a renderer for QPainter."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, singledispatch
from math import ceil
from pathlib import Path as FilePath

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPainterPath, QPen, QPixmap

from app.drawing.colours import Colour, Fill, Mark, Pattern, hex_colour
from app.drawing.geometry import Box
from app.drawing.items import (
    SHARES_LEFT,
    Group,
    Item,
    Line,
    Marker,
    Markers,
    Path,
    Pill,
    Raster,
    Rectangle,
    Rectangles,
    Text,
)
from app.drawing.picture import Drawing
from app.theme import LABEL_PX, Theme
from app.widgets.brushes import pattern_brushes
from app.widgets.paint import Paint, face, width
from app.widgets.patterns import fill_pattern

PIXEL_RATIO = 2


class QtMetrics:
    """The size of text in the fonts of Qt."""

    def width(self, words: str, px: int = LABEL_PX, weight: int = 400, mono: bool = False) -> float:
        return width(words, px, weight, mono)

    def height(self, px: int = LABEL_PX) -> float:
        return face(px)[1].height()


QT_METRICS = QtMetrics()


def render(items: Iterable[Item], paint: Paint) -> None:
    """Paint items, without a background."""
    for item in items:
        _render(item, paint)


def write_png(drawing: Drawing, theme: Theme, path: FilePath) -> None:
    """Write a drawing with two pixels per unit. Raises OSError if the file cannot be written."""
    size = round(drawing.width * PIXEL_RATIO), round(drawing.height * PIXEL_RATIO)
    image = QImage(*size, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(PIXEL_RATIO)
    image.fill(QColor(theme.bg1))
    painter = QPainter(image)
    render(drawing.items, Paint(painter, theme))
    painter.end()
    if not image.save(str(path), "PNG"):  # pyright: ignore[reportCallIssue, reportArgumentType]
        raise OSError(5, "the image could not be written", str(path))


def rect(box: Box) -> QRectF:
    """A box as a rectangle of Qt."""
    return QRectF(box.left, box.top, box.width, box.height)


def box_of(area: QRectF) -> Box:
    """A rectangle of Qt as a box."""
    return Box(area.left(), area.top(), area.width(), area.height())


def _hex(colour: Colour | None, paint: Paint) -> str:
    return hex_colour(colour, paint.theme) if colour else ""


def _fade(painter: QPainter, opacity: float) -> float:
    """Multiply the painter's opacity. Returns the previous opacity, for the caller to restore."""
    before = painter.opacity()
    if opacity != 1.0:
        painter.setOpacity(before * opacity)
    return before


@singledispatch
def _render(item: Item, paint: Paint) -> None:
    raise TypeError(f"expected an item of a drawing, got {type(item).__name__}")


@_render.register
def _(item: Line, paint: Paint) -> None:
    paint.line(
        item.points,
        _hex(item.colour, paint),
        item.width,
        item.dash == "dashed",
        _hex(item.casing, paint),
        item.dash == "dotted",
        item.opacity,
    )


@_render.register
def _(item: Rectangle, paint: Paint) -> None:
    area = rect(item.box)
    before = _fade(paint.painter, item.opacity)
    if isinstance(item.fill, Pattern):
        _fill(item.fill, area, paint, item.radius)
    if item.edge or (item.fill and not isinstance(item.fill, Pattern)):
        plain = None if isinstance(item.fill, Pattern) else item.fill
        dashed = item.dash != "solid"
        edge = _hex(item.edge, paint)
        paint.box(area, _hex(plain, paint), edge, item.radius, dashed, item.edge_width)
    paint.painter.setOpacity(before)


@_render.register
def _(item: Rectangles, paint: Paint) -> None:
    paint.painter.setRenderHint(QPainter.RenderHint.Antialiasing, not item.crisp)
    before = _fade(paint.painter, item.opacity)
    if item.crisp and not paint.vector:
        _fill_each([rect(box) for box in item.boxes], item.fill, paint)
    else:
        outline = QPainterPath()
        for box in item.boxes:
            outline.addRect(box.left, box.top, box.width, box.height)
        _fill(item.fill, outline, paint)
    paint.painter.setOpacity(before)
    paint.painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)


@_render.register
def _(item: Path, paint: Paint) -> None:
    outline = QPainterPath()
    for step in item.steps:
        match step:
            case ("M", x, y):
                outline.moveTo(x, y)
            case ("L", x, y):
                outline.lineTo(x, y)
            case ("C", x1, y1, x2, y2, x, y):
                outline.cubicTo(x1, y1, x2, y2, x, y)
            case _:
                outline.closeSubpath()
    before = _fade(paint.painter, item.opacity)
    if item.fill:
        _fill(item.fill, outline, paint)
    if item.edge:
        paint.painter.setBrush(Qt.BrushStyle.NoBrush)
        paint.painter.setPen(QPen(QColor(_hex(item.edge, paint)), item.edge_width))
        paint.painter.drawPath(outline)
    paint.painter.setOpacity(before)


@_render.register
def _(item: Marker, paint: Paint) -> None:
    edge = _hex(item.edge, paint)
    paint.mark(
        item.regime, item.x, item.y, item.radius, edge, item.hollow, item.opacity, item.edge_width
    )


@_render.register
def _(item: Markers, paint: Paint) -> None:
    edge = _hex(item.edge, paint)
    if paint.vector:
        for x, y in item.points:
            paint.mark(item.regime, x, y, item.radius, edge, opacity=item.opacity)
        return
    mark = _mark_pixmap(paint.theme, item.regime, item.radius, edge, item.opacity, paint.ratio)
    half = mark.width() / mark.devicePixelRatio() / 2
    copy = paint.painter.drawPixmap
    for x, y in item.points:
        copy(QPointF(x - half, y - half), mark)


@lru_cache(maxsize=256)
def _mark_pixmap(
    theme: Theme, regime: Mark | None, radius: float, edge: str, opacity: float, ratio: float
) -> QPixmap:
    """A mark in the middle of a transparent square."""
    side = ceil((4 * radius + 4) * ratio)
    pixmap = QPixmap(side, side)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    middle = side / ratio / 2
    Paint(painter, theme).mark(regime, middle, middle, radius, edge, opacity=opacity)
    painter.end()
    return pixmap


@_render.register
def _(item: Text, paint: Paint) -> None:
    place, align = (item.x, item.y), SHARES_LEFT[item.anchor]
    if item.turn:
        paint.painter.save()
        paint.painter.translate(QPointF(*place))
        paint.painter.rotate(item.turn)
        place = (0.0, 0.0)
    colour = _hex(item.colour, paint)
    paint.text(*place, item.words, colour, item.px, item.weight, align, item.mono)
    if item.turn:
        paint.painter.restore()


@_render.register
def _(item: Pill, paint: Paint) -> None:
    text = item.text
    ground, edge = _hex(item.ground, paint), _hex(item.edge, paint)
    paint.pill(
        item.box.left,
        text.y,
        text.words,
        _hex(text.colour, paint),
        text.px,
        text.weight,
        0.0,
        ground,
        edge,
        text.mono,
    )


@_render.register
def _(item: Raster, paint: Paint) -> None:
    cells = np.ascontiguousarray(item.cells, np.uint8)
    rows, columns = cells.shape
    image = QImage(cells.data, columns, rows, columns, QImage.Format.Format_Indexed8)
    image.setColorTable([QColor(_hex(each, paint)).rgb() for each in item.palette])
    paint.painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, item.smooth)
    paint.painter.drawImage(rect(item.box), image)


@_render.register
def _(item: Group, paint: Paint) -> None:
    if item.clip is not None:
        paint.painter.save()
        paint.painter.setClipRect(rect(item.clip), Qt.ClipOperation.IntersectClip)
    for each in item.items:
        _render(each, paint)
    if item.clip is not None:
        paint.painter.restore()


def _brushes(fill: Fill, paint: Paint) -> tuple[QBrush, ...]:
    """The brushes of a fill on a screen, painted over each other."""
    if not isinstance(fill, Pattern):
        return pattern_brushes(paint.theme, _hex(fill, paint), paint.ratio)
    brushes = pattern_brushes(paint.theme, fill.kind, paint.ratio, fill.strength)
    return brushes if fill.ground else brushes[-1:] if fill.kind != "compute" else ()


def _fill_each(areas: list[QRectF], fill: Fill, paint: Paint) -> None:
    """Fill disjoint areas without antialiasing; Qt takes many times as long for the outline of all
    of them."""
    paint.painter.setPen(Qt.PenStyle.NoPen)
    for brush in _brushes(fill, paint):
        paint.painter.setBrush(brush)
        paint.painter.drawRects(areas)


def _fill(fill: Fill, shape: QPainterPath | QRectF, paint: Paint, radius: float = 0.0) -> None:
    """Fill a shape with a colour or the pattern of a kind."""
    if not isinstance(fill, Pattern):
        paint.area(shape, _hex(fill, paint), radius=radius)
    elif fill.ground:
        paint.area(shape, fill.kind, fill.strength, radius=radius)
    elif fill.kind != "compute":
        outline = QPainterPath()
        if isinstance(shape, QRectF):
            outline.addRoundedRect(shape, radius, radius)
        else:
            outline = shape
        if paint.vector:
            fill_pattern(paint.painter, outline, paint.theme, fill.kind, fill.strength, False)
        else:
            brush = pattern_brushes(paint.theme, fill.kind, paint.ratio, fill.strength)[-1]
            paint.painter.fillPath(outline, brush)
