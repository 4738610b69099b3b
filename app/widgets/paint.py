"""Painting of views: text, marks, patterns and lines, in pixels, on a screen or into an SVG.

On a screen, patterns are brushes of small repeated images; an SVG has no such brush and contains
the shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPaintEngine,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
)

from app.drawing.colours import Mark
from app.theme import FIXED_FAMILIES, LABEL_PX, Theme, mixed
from app.widgets.brushes import faint, pattern_brushes
from app.widgets.fonts import font
from app.widgets.patterns import fill_pattern, mark_path

Points = Sequence[tuple[float, float]]
_PILL = 0.92
_DASHED, _DOTTED = (3.4, 2.4), (1.4, 1.8)


@lru_cache(maxsize=64)
def face(px: int, weight: int = 400, mono: bool = False) -> tuple[QFont, QFontMetricsF]:
    """A font of `px` pixels, with its metrics."""
    letters = font(px, weight)
    if mono:
        letters.setFamilies(list(FIXED_FAMILIES))
    return letters, QFontMetricsF(letters)


@lru_cache(maxsize=64)
def _heights(px: int, weight: int, mono: bool) -> tuple[float, float]:
    """How far the baseline lies below the middle of a line, and the height of the line."""
    metrics = face(px, weight, mono)[1]
    return (metrics.ascent() - metrics.descent()) / 2, metrics.height()


@lru_cache(maxsize=256)
def _colour(name: str) -> QColor:
    """The colour of a name; do not change it."""
    return QColor(name)


@lru_cache(maxsize=256)
def _line_pen(colour: str, opacity: float, wide: float, dash: tuple[float, ...]) -> QPen:
    """The pen of a line; do not change it."""
    pen = QPen(
        faint(colour, opacity),
        wide,
        Qt.PenStyle.SolidLine,
        Qt.PenCapStyle.FlatCap,
        Qt.PenJoinStyle.RoundJoin,
    )
    if dash:
        pen.setDashPattern(dash)
    return pen


@lru_cache(maxsize=256)
def _mark_pen(colour: str, opacity: float, wide: float) -> QPen:
    """The pen of a mark's edge; do not change it."""
    return QPen(faint(colour, opacity), wide)


@lru_cache(maxsize=256)
def _mark_brush(colour: str, opacity: float) -> QBrush:
    """The brush of a mark; do not change it."""
    return QBrush(faint(colour, opacity))


@lru_cache(maxsize=1 << 13)
def width(words: str, px: int = LABEL_PX, weight: int = 400, mono: bool = False) -> float:
    """The width of a text in pixels."""
    return face(px, weight, mono)[1].horizontalAdvance(words)


def elided(
    words: str, room: float, px: int = LABEL_PX, weight: int = 400, mono: bool = False
) -> str:
    """A text elided in its middle to `room` pixels."""
    return face(px, weight, mono)[1].elidedText(words, Qt.TextElideMode.ElideMiddle, room)


def fitting(room: float, *texts: str, px: int = LABEL_PX, weight: int = 400) -> str:
    """The first text that fits into `room` pixels, else the last."""
    return next((text for text in texts if width(text, px, weight) <= room), texts[-1])


class Paint:
    """A painter with a theme. The kind of an area is a regime, "idle", "bubble", "refused" or
    "#RRGGBB"."""

    def __init__(self, painter: QPainter, theme: Theme) -> None:
        self.painter, self.theme = painter, theme
        self.vector = painter.paintEngine().type() == QPaintEngine.Type.SVG
        self.ratio = max(1.0, painter.device().devicePixelRatioF())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing, True)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = "",
        px: int = LABEL_PX,
        weight: int = 400,
        align: float = 0.0,
        mono: bool = False,
        room: float | None = None,
    ) -> QRectF:
        """Paint a line of text, centred vertically on `y`.

        `align` is the part of the text left of `x`: 0 for left-aligned, 1 for right-aligned. The
        text is elided in its middle to `room` pixels. Returns its box.
        """
        letters = face(px, weight, mono)[0]
        wide = width(words, px, weight, mono)
        if room is not None and wide > room:
            words = elided(words, max(0.0, room), px, weight, mono)
            wide = width(words, px, weight, mono)
        left, (drop, high) = x - align * wide, _heights(px, weight, mono)
        painter = self.painter
        painter.setFont(letters)
        painter.setPen(_colour(colour or self.theme.ink))
        painter.drawText(QPointF(left, y + drop), words)
        return QRectF(left, y - high / 2, wide, high)

    def pill(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = "",
        px: int = LABEL_PX,
        weight: int = 500,
        align: float = 0.5,
        ground: str = "",
        edge: str = "",
        mono: bool = False,
    ) -> QRectF:
        """Paint a label on a rounded background that hides lines below it. Returns its box."""
        box = pill_box(x, y, words, px, weight, align, mono)
        colour_of = QColor(ground or self.theme.bg1)
        colour_of.setAlphaF(1.0 if ground else _PILL)
        self.painter.setBrush(colour_of)
        self.painter.setPen(QPen(QColor(edge), 1.0) if edge else QPen(Qt.PenStyle.NoPen))
        self.painter.drawRoundedRect(box, 4, 4)
        self.text(box.left() + 5, y, words, colour, px, weight, mono=mono)
        return box

    def line(
        self,
        points: Points,
        colour: str,
        wide: float = 1.0,
        dashed: bool = False,
        casing: str = "",
        dotted: bool = False,
        opacity: float = 1.0,
    ) -> None:
        """Paint a line through points; `casing` is the colour of a wider line below it."""
        if len(points) < 2:
            return
        shape = QPolygonF([QPointF(x, y) for x, y in points])
        painter = self.painter
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if casing:
            painter.setPen(
                QPen(
                    QColor(casing),
                    wide + 3,
                    Qt.PenStyle.SolidLine,
                    Qt.PenCapStyle.RoundCap,
                    Qt.PenJoinStyle.RoundJoin,
                )
            )
            painter.drawPolyline(shape)
        dash = _DASHED if dashed else _DOTTED if dotted else ()
        painter.setPen(_line_pen(colour, opacity, wide, dash))
        painter.drawPolyline(shape)

    def area(
        self,
        shape: QPainterPath | QRectF,
        kind: str,
        strength: float = 1.0,
        edge: str = "",
        radius: float = 0.0,
        edge_px: float = 1.4,
    ) -> None:
        """Fill an area of a kind; `strength` mixes its colours with the background."""
        painter, theme = self.painter, self.theme
        painter.setPen(Qt.PenStyle.NoPen)
        if self.vector and not kind.startswith("#"):
            self._vector(shape, kind, strength, radius)
        else:
            for brush in pattern_brushes(theme, kind, self.ratio, strength):
                painter.setBrush(brush)
                self._shape(shape, radius)
        if edge:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(edge), edge_px))
            self._shape(shape, radius)

    def _shape(self, shape: QPainterPath | QRectF, radius: float) -> None:
        if isinstance(shape, QPainterPath):
            self.painter.drawPath(shape)
        elif radius and min(shape.width(), shape.height()) > 1.5 * radius:
            self.painter.drawRoundedRect(shape, radius, radius)
        else:
            self.painter.drawRect(shape)

    def _vector(
        self, shape: QPainterPath | QRectF, kind: str, strength: float, radius: float
    ) -> None:
        if isinstance(shape, QPainterPath):
            path = shape
        else:
            path = QPainterPath()
            path.addRoundedRect(shape, radius, radius)
        if kind == "idle":
            self.painter.fillPath(
                path, QColor(mixed(self.theme.overhead.fill, self.theme.bg1, 0.12 * strength))
            )
            kind, strength = "overhead", 0.55 * strength
        fill_pattern(self.painter, path, self.theme, kind, strength, ground=strength == 1.0)

    def box(
        self,
        area: QRectF,
        ground: str,
        edge: str = "",
        radius: float = 8.0,
        dashed: bool = False,
        wide: float = 1.0,
    ) -> None:
        """Paint a rounded rectangle."""
        self.painter.setBrush(QColor(ground) if ground else Qt.BrushStyle.NoBrush)
        pen = QPen(QColor(edge), wide) if edge else QPen(Qt.PenStyle.NoPen)
        if dashed:
            pen.setDashPattern([4, 3])
        self.painter.setPen(pen)
        self.painter.drawRoundedRect(area, radius, radius)

    def mark(
        self,
        regime: Mark | None,
        x: float,
        y: float,
        radius: float = 5.0,
        edge: str = "",
        hollow: bool = False,
        opacity: float = 1.0,
        wide: float = 1.4,
    ) -> None:
        """Paint the mark of a regime; equal radii give equal areas."""
        theme, painter = self.theme, self.painter
        colour = theme.regime(regime).fill if regime else theme.ink
        painter.setPen(_mark_pen(edge or (colour if hollow else theme.bg1), opacity, wide))
        painter.setBrush(_mark_brush(theme.bg1 if hollow else colour, opacity))
        painter.drawPath(mark_path(regime, radius).translated(x, y))

    def ring(self, area: QRectF, radius: float = 6.0) -> None:
        """Paint a focus ring."""
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.setPen(QPen(QColor(self.theme.focus), 2.0))
        self.painter.drawRoundedRect(area, radius, radius)


def pill_box(
    x: float,
    y: float,
    words: str,
    px: int = LABEL_PX,
    weight: int = 500,
    align: float = 0.5,
    mono: bool = False,
) -> QRectF:
    """The box of a pill."""
    wide, high = width(words, px, weight, mono) + 10, _heights(px, weight, mono)[1] + 3
    return QRectF(x - align * wide, y - high / 2, wide, high)
