"""What every picture has: ground, headings, plots without frames, labels on pills, PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyqtgraph as pg  # pyright: ignore[reportMissingTypeStubs]
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator

from app.plots.lines import Rule, Stroke, polyline
from app.scenes.ticks import Ticks
from app.theme import (
    FIGURE_PX,
    GRID_WIDTH,
    LABEL_PX,
    SUPPORT_PX,
    Theme,
)
from app.widgets.fonts import font

PIXEL_RATIO = 2
LEFT_PX = 66
"""The room of each plot's left axis, so that plots above each other stand in line."""

_PILL = 0.92  # how opaque a pill is

pg.setConfigOptions(antialias=True)


class Picture(pg.GraphicsLayoutWidget):
    """A ground of `bg1` with a title, a quieter subtitle and plots below: `self.row` is the next
    free row of its grid."""

    SIZE = (1100, 640)

    def __init__(self, theme: Theme, title: str, subtitle: str = "") -> None:
        super().__init__(show=False, size=self.SIZE)
        self.theme = theme
        self.setBackground(QColor(theme.bg1))
        self.setFrameShape(self.Shape.NoFrame)
        self.grid: Any = self.ci.layout
        self.grid.setContentsMargins(20, 14, 24, 14)
        self.grid.setHorizontalSpacing(14)
        self.grid.setVerticalSpacing(4)
        self.row = 0
        self.heading(title, FIGURE_PX, 600, theme.ink)
        if subtitle:
            self.heading(subtitle, SUPPORT_PX, 400, theme.ink3)

    def heading(
        self, text: str, px: int, weight: int, colour: str, column: int = 0, columns: int = 12
    ) -> None:
        """A line of text across the grid, in a row of its own."""
        label = Line(text, font(px, weight), colour, self.SIZE[0] - 60)
        self.ci.addItem(label, row=self.row, col=column, colspan=columns)
        self.row += 1

    def plot(self, row: int | None = None, column: int = 0, columns: int = 12) -> Any:
        """A plot in the picture's style: quiet axes, nothing to click."""
        at = self.row if row is None else row
        found: Any = self.ci.addPlot(row=at, col=column, colspan=columns)
        if row is None:
            self.row += 1
        found.hideButtons()
        found.setMenuEnabled(False)
        found.setMouseEnabled(x=False, y=False)
        found.getViewBox().setDefaultPadding(0.0)
        for side in ("left", "bottom"):
            axis = found.getAxis(side)
            axis.setPen(QPen(QColor(self.theme.line2), GRID_WIDTH))
            axis.setTextPen(QColor(self.theme.ink3))
            axis.setStyle(
                tickFont=font(LABEL_PX),
                tickLength=0,
                tickTextOffset=6,
                hideOverlappingLabels=False,
                tickAlpha=0,
            )
        found.getAxis("left").setPen(QPen(Qt.PenStyle.NoPen))
        found.getAxis("left").setWidth(LEFT_PX)
        return found

    def ticks(self, plot: Any, side: str, ticks: Ticks, grid: bool = True) -> None:
        """Name these places of an axis, with quiet lines across the plot."""
        plot.getAxis(side).setTicks([ticks])
        for at, _ in ticks if grid else ():
            rule = Rule(at, side == "bottom", self.theme.grid, GRID_WIDTH)
            rule.setZValue(-100)
            plot.addItem(rule, ignoreBounds=True)

    def axis_title(self, plot: Any, side: str, text: str) -> None:
        """What an axis shows, with its unit."""
        axis = plot.getAxis(side)
        axis.setLabel(text, color=self.theme.ink3)
        axis.label.setFont(font(LABEL_PX))

    def pill(
        self,
        plot: Any,
        text: str,
        x: float,
        y: float,
        colour: str = "",
        anchor: tuple[float, float] = (0.5, 0.5),
        weight: int = 500,
        px: int = LABEL_PX,
        ground: bool = True,
    ) -> Pill:
        """A label at a point of a plot, on the panel's colour so that lines do not cross it."""
        label = Pill(
            text,
            font(px, weight),
            colour or self.theme.ink,
            anchor,
            self.theme.bg1 if ground else "",
        )
        label.setPos(x, y)
        plot.addItem(label, ignoreBounds=True)
        return label

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float, dashed: bool = False
    ) -> Stroke:
        """A curve."""
        return Stroke(polyline(points), colour, width, dashed)

    def write(self, png: Path | None = None, svg: Path | None = None) -> None:
        """Draw to files; without a window. OSError where one cannot be written."""
        self.resize(*self.SIZE)
        self.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        self.show()
        application = pg.mkQApp()
        for _ in range(3):  # the layout settles once axes know the width of their texts
            application.processEvents()
        self.settled()
        application.processEvents()
        width, height = self.SIZE
        if png is not None:
            image = QImage(width * PIXEL_RATIO, height * PIXEL_RATIO, QImage.Format.Format_RGB32)
            image.setDevicePixelRatio(PIXEL_RATIO)
            self._render(image)
            if not image.save(str(png), "PNG"):  # pyright: ignore
                raise OSError(5, "the image could not be written", str(png))
        if svg is not None:
            drawing = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
            drawing.setFileName(str(svg))
            drawing.setSize(QSize(width, height))
            drawing.setViewBox(QRect(0, 0, width, height))
            drawing.setResolution(self.logicalDpiX())  # axes keep pictures, which scale by it
            drawing.setTitle(self.windowTitle() or "Ridgepoint")
            drawing.setDescription("")
            self._render(drawing)
            if not svg.is_file():
                raise OSError(5, "the drawing could not be written", str(svg))
        self.hide()

    def settled(self) -> None:
        """What can be placed only once the layout is known."""

    def _render(self, device: Any) -> None:
        painter = QPainter(device)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing, True)
        area = QRectF(0, 0, *self.SIZE)
        painter.fillRect(area, QColor(self.theme.bg1))
        self.render(painter, area, QRect(0, 0, *self.SIZE))
        painter.end()


class Line(pg.GraphicsWidget):
    """One line of text, shortened in its middle where it is too wide."""

    def __init__(self, text: str, face: QFont, colour: str, width: float) -> None:
        super().__init__()
        self.face, self.colour = face, colour
        metrics = QFontMetricsF(face)
        self.text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, width)
        self.setFixedHeight(metrics.height() + 3)

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, self.size().width(), self.size().height())

    def paint(self, painter: QPainter, option: Any = None, widget: Any = None) -> None:
        painter.setFont(self.face)
        painter.setPen(QColor(self.colour))
        painter.drawText(QPointF(0, QFontMetricsF(self.face).ascent()), self.text)


class Pill(pg.GraphicsObject):
    """Lines of text on a rounded ground, in pixels, at a point of a plot. `anchor` is the part of
    the pill that stands at the point: (0, 0) its top left, (1, 1) its bottom right."""

    def __init__(
        self, text: str, face: QFont, colour: str, anchor: tuple[float, float], ground: str
    ) -> None:
        super().__init__()
        self.lines, self.face, self.colour, self.ground = text.split("\n"), face, colour, ground
        metrics = QFontMetricsF(face)
        self.step = metrics.height()
        self.ascent = metrics.ascent()
        wide = max(metrics.horizontalAdvance(line) for line in self.lines)
        self.margin = 5.0 if ground else 0.0
        size = wide + 2 * self.margin, self.step * len(self.lines) + (3.0 if ground else 0.0)
        self.box = QRectF(-anchor[0] * size[0], -anchor[1] * size[1], *size)
        self.setFlag(self.GraphicsItemFlag.ItemIgnoresTransformations)
        self.setZValue(30)

    def boundingRect(self) -> QRectF:
        return self.box

    def paint(self, painter: QPainter, option: Any = None, widget: Any = None) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        if self.ground:
            ground = QColor(self.ground)
            ground.setAlphaF(_PILL)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ground)
            painter.drawRoundedRect(self.box, 4, 4)
        painter.setFont(self.face)
        painter.setPen(QColor(self.colour))
        top = self.box.top() + (1.5 if self.ground else 0.0) + self.ascent
        for number, line in enumerate(self.lines):
            at = QPointF(self.box.left() + self.margin, top + number * self.step)
            painter.drawText(at, line)


__all__ = ["Line", "Picture", "Pill", "font"]
