"""Areas and marks of the regimes: a colour, a shape and a pattern each.

Patterns and marks are drawn in the picture's own pixels, so that zooming leaves them alone.
"""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg  # pyright: ignore[reportMissingTypeStubs]
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from app.theme import Theme
from app.widgets.patterns import fill_pattern, mark_path, polygon
from simulator.prediction import Regime

__all__ = [
    "Area",
    "Mark",
    "fill_pattern",
    "mark_path",
    "polygon",
    "rectangle",
]


class Area(pg.GraphicsObject):
    """A filled path in the plot's coordinates: "compute" solid, "memory" dotted, "overhead"
    hatched, "refused" hatched thinly. `edge` is a colour for its outline, "" for none."""

    def __init__(
        self, theme: Theme, kind: str, path: QPainterPath, edge: str = "", strength: float = 1.0
    ) -> None:
        super().__init__()
        self.theme, self.kind, self.path, self.edge = theme, kind, path, edge
        self.strength = strength

    def boundingRect(self) -> QRectF:
        return self.path.boundingRect()

    def paint(self, painter: QPainter, option: Any = None, widget: Any = None) -> None:
        outline = painter.transform().map(self.path)
        painter.save()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        fill_pattern(painter, outline, self.theme, self.kind, self.strength)
        if self.edge:
            painter.setPen(QPen(QColor(self.edge), 1.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(outline)
        painter.restore()


class Mark(pg.GraphicsObject):
    """A regime's mark at a point of the plot, `radius` in pixels."""

    def __init__(
        self,
        theme: Theme,
        regime: Regime | None,
        x: float,
        y: float,
        radius: float = 6.0,
        edge: str = "",
        hollow: bool = False,
    ) -> None:
        super().__init__()
        self.theme, self.radius = theme, radius
        self.regime: Regime | None = regime
        self.edge, self.hollow = edge, hollow
        self.setPos(x, y)
        self.setFlag(self.GraphicsItemFlag.ItemIgnoresTransformations)
        self.setZValue(20)

    def boundingRect(self) -> QRectF:
        reach = 2 * self.radius + 2
        return QRectF(-reach, -reach, 2 * reach, 2 * reach)

    def paint(self, painter: QPainter, option: Any = None, widget: Any = None) -> None:
        colour = self.theme.regime(self.regime).fill if self.regime else self.theme.ink
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(QPen(QColor(self.edge or (colour if self.hollow else self.theme.bg0)), 1.6))
        painter.setBrush(QColor(self.theme.bg1 if self.hollow else colour))
        painter.drawPath(mark_path(self.regime, self.radius))


def rectangle(x0: float, y0: float, x1: float, y1: float) -> QPainterPath:
    """A rectangle between two corners."""
    path = QPainterPath()
    path.addRect(QRectF(QPointF(min(x0, x1), min(y0, y1)), QPointF(max(x0, x1), max(y0, y1))))
    return path
