"""Lines with pens of pixels: curves, boundaries on a casing, rules through a whole plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg  # pyright: ignore[reportMissingTypeStubs]
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from app.theme import CASING_WIDTH


class Stroke(pg.GraphicsObject):
    """A path in the plot's coordinates, drawn with a pen of pixels; `casing` is a colour for a
    wider line beneath it."""

    def __init__(
        self, path: QPainterPath, colour: str, width: float, dashed: bool = False, casing: str = ""
    ) -> None:
        super().__init__()
        self.path, self.casing = path, casing
        style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
        self.pen = QPen(
            QColor(colour), width, style, Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.RoundJoin
        )
        if dashed:
            self.pen.setDashPattern([3.0, 2.0])

    def boundingRect(self) -> QRectF:
        return self.path.boundingRect()

    def paint(self, painter: QPainter, option: Any = None, widget: Any = None) -> None:
        outline = painter.transform().map(self.path)
        painter.save()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self.casing:
            painter.setPen(
                QPen(
                    QColor(self.casing),
                    CASING_WIDTH,
                    Qt.PenStyle.SolidLine,
                    Qt.PenCapStyle.RoundCap,
                    Qt.PenJoinStyle.RoundJoin,
                )
            )
            painter.drawPath(outline)
        painter.setPen(self.pen)
        painter.drawPath(outline)
        painter.restore()


class Rule(pg.GraphicsObject):
    """A straight line through the whole plot: at an x (`upright`) or at a y."""

    def __init__(
        self, at: float, upright: bool, colour: str, width: float, dashed: bool = False
    ) -> None:
        super().__init__()
        self.at, self.upright = at, upright
        self.stroke = Stroke(QPainterPath(), colour, width, dashed)

    def boundingRect(self) -> QRectF:
        view = self.viewRect() or QRectF()
        if self.upright:
            return QRectF(self.at, view.top(), 0.0, view.height())
        return QRectF(view.left(), self.at, view.width(), 0.0)

    def viewTransformChanged(self) -> None:
        self.prepareGeometryChange()

    def paint(self, painter: QPainter, option: Any = None, widget: Any = None) -> None:
        box = self.boundingRect()
        path = QPainterPath(box.topLeft())
        path.lineTo(box.bottomRight())
        self.stroke.path = path
        self.stroke.paint(painter)


def polyline(points: Sequence[tuple[float, float]]) -> QPainterPath:
    """An open path through points."""
    path = QPainterPath(QPointF(*points[0]))
    for x, y in points[1:]:
        path.lineTo(x, y)
    return path
