"""The plot of a regime map, with the cursor that the pointer drags and the keys move."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent

from app.quantities import between, data, seconds, trimmed
from app.scenes.regime_map import Chart, Spot
from app.theme import SUPPORT_PX, Theme
from app.views.regime_map import cursor as map_cursor
from app.views.regime_map import frame as map_frame
from app.views.regime_map import lines as map_lines
from app.views.regime_map.background import background
from app.widgets.canvas import Canvas, Card
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, elided, face, pill_box, width
from simulator.prediction import REGIMES
from simulator.scenario.resolve import resolve

_LEFT, _TOP, _RIGHT, _BOTTOM, LEGEND = 64.0, 30.0, 18.0, 44.0, 26.0
_STALE = 0.6


class MapCanvas(Canvas):
    """`spot` is the cursor's point and `home` the scenario's; None if the map has no such point.
    `moved_to` emits each move of the cursor, `pressed_on` the Spot where it was released or where
    Enter was pressed."""

    moved_to = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Regime map: the dominant regime over two axes")
        self.chart: Chart | None = None
        self.spot: Spot | None = None
        self.home: Spot | None = None
        self.dragged = False
        self.stale = False
        self._background: tuple[object, QImage] | None = None
        self.setMinimumSize(330, 280)

    def show_chart(self, chart: Chart, home: Spot | None) -> None:
        """Draw a map with the scenario at the point `home`."""
        self.chart, self.stale, self.over = chart, False, None
        self.put(home)

    def put(self, home: Spot | None) -> None:
        """Move the scenario to a point; the cursor follows unless it is dragged."""
        self.home = home
        if not self.dragged:
            self.spot = home
        self.update()

    # geometry

    @property
    def plot(self) -> QRectF:
        """The area between the axes."""
        left = _LEFT
        if self.chart is not None and self.chart.field and not self.chart.field.up.smooth:
            left = 20 + max(width(str(v)) for v in self.chart.y.values)
        left = min(left, 0.4 * self.width())
        return QRectF(
            left, _TOP, self.width() - left - _RIGHT, self.height() - _TOP - _BOTTOM - LEGEND
        )

    def pixel_at(self, x: float, y: float) -> QPointF:
        """The pixel of a position on both axes."""
        assert self.chart is not None
        return map_frame.pixel(self.chart, self.plot, x, y)

    def pixel(self, spot: Spot) -> QPointF:
        """The pixel of a point."""
        chart = self.chart
        assert chart is not None and chart.field is not None
        x = map_frame.positions(chart.field.along)[spot[0]]
        y = map_frame.positions(chart.field.up)[spot[1]]
        return self.pixel_at(x, y)

    def nearest(self, at: QPointF) -> Spot | None:
        """The point nearest to a pixel."""
        chart, area = self.chart, self.plot
        if chart is None or chart.field is None:
            return None
        along, up = chart.field.along, chart.field.up
        x = along.low + (at.x() - area.left()) / area.width() * (along.high - along.low)
        y = up.low + (area.bottom() - at.y()) / area.height() * (up.high - up.low)
        return (
            int(np.argmin(np.abs(map_frame.positions(along) - x))),
            int(np.argmin(np.abs(map_frame.positions(up) - y))),
        )

    # painting

    def draw(self, paint: Paint) -> None:
        chart = self.chart
        if chart is None or chart.field is None:
            self._without(paint, chart)
            return
        area = self.plot
        paint.painter.setOpacity(_STALE if self.stale else 1.0)
        paint.painter.drawImage(area.topLeft(), self._background_image(paint.ratio))
        chosen = self.pixel(self.spot) if self.spot is not None else None
        map_frame.axes(paint, chart, area, chosen)
        labels = Labels(area)
        paint.painter.save()
        paint.painter.setClipRect(area)
        map_lines.equal_times(paint, chart, self.pixel_at)
        map_lines.boundaries(paint, chart, self.pixel_at)
        if self.spot is not None:
            where = self.pixel(self.spot)
            labels.take(QRectF(where.x() - 14, where.y() - 14, 28, 28))
            map_cursor.cross(paint, where, area)
        if self.home is not None and self.home != self.spot:
            away = self.pixel(self.home)
            paint.mark(None, away.x(), away.y(), 6.0, self.theme.ink, True, wide=2.0)
        paint.painter.restore()
        if self.spot is not None:
            map_cursor.card(paint, chart, self.spot, self.pixel(self.spot), labels, self.home)
        self._names(paint, chart, labels)
        if chart.field.smooth:
            map_lines.time_names(paint, chart, self.pixel_at, labels)
        else:
            self._times(paint, chart, labels)
        if chosen is not None and self.spot is not None:
            map_frame.chips(paint, chart, area, self.spot, chosen)
        map_frame.legend(paint, chart, area, self.height() - LEGEND / 2 - 2)
        paint.painter.setOpacity(1.0)

    def _without(self, paint: Paint, chart: Chart | None) -> None:
        """Say that the map is being computed, or why there is none."""
        words = f"No map.\n{chart.refused}" if chart else "Predicting over both axes …"
        area = QRectF(self.rect()).adjusted(24, 16, -24, -16)
        paint.painter.setFont(face(SUPPORT_PX)[0])
        paint.painter.setPen(QColor(self.theme.ink2))
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        paint.painter.drawText(area, int(flags), words)

    def _background_image(self, ratio: float) -> QImage:
        """The background image, cached until its content changes."""
        chart, area = self.chart, self.plot
        assert chart is not None and chart.field is not None
        size = QSize(max(1, round(area.width())), max(1, round(area.height())))
        key = (id(chart), self.theme.name, size.width(), size.height(), ratio)
        if self._background is None or self._background[0] != key:
            self._background = key, background(chart.field, self.theme, size, ratio)
        return self._background[1]

    def _names(self, paint: Paint, chart: Chart, labels: Labels) -> None:
        field = chart.field
        assert field is not None
        if field.over.any():
            varies = {"gpu", "memory"} & {chart.x.name, chart.y.name}
            capacity = "the GPU's memory" if varies else _memory(chart)
            self._note(paint, field.over, "Does not fit", f"needs more than {capacity}", labels)
        if (~field.known).any() and field.mapped.map.refused:
            why = elided(field.mapped.map.refused[0], 200)
            self._note(paint, ~field.known, "Cannot run", why, labels)
        if field.smooth:
            for regime, (x, y) in chart.places:
                inside = field.inside(regime)

                def belongs(at: QPointF, inside: Any = inside) -> bool:
                    cell = map_frame.cell(chart, self.plot, at)
                    return cell is not None and bool(inside[cell])

                map_lines.regime_card(paint, regime, self.pixel_at(x, y), labels, belongs)

    def _note(self, paint: Paint, inside: Any, head: str, why: str, labels: Labels) -> None:
        rows, columns = np.nonzero(inside)
        field = self.chart.field if self.chart else None
        if field is None or rows.size < 0.012 * inside.size:
            return
        x, y = (
            float(axis.edges[int(np.median(cells))])
            for axis, cells in ((field.along, columns), (field.up, rows))
        )
        map_lines.note(paint, self.pixel_at(x, y), head, why, labels)

    def _times(self, paint: Paint, chart: Chart, labels: Labels) -> None:
        """Write the times of some points, for axes of choices."""
        across, up = (
            _spread(len(line.values), most) for line, most in ((chart.x, 6), (chart.y, 32))
        )
        for row in up:
            for column in across:
                if chart.why((column, row)):
                    continue
                at = self.pixel((column, row))
                words = trimmed(seconds(chart.figures((column, row))["period_s"], 2))
                box = pill_box(at.x(), at.y(), words)
                if labels.free(box):
                    labels.take(box.adjusted(-6, -1, 6, 1))
                    paint.pill(at.x(), at.y(), words, self.theme.ink)

    # the pointer and the keys

    def hit(self, at: QPointF) -> Spot | None:
        if not self.plot.adjusted(-8, -8, 8, 8).contains(at):
            return None
        return self.nearest(at)

    def card(self) -> Card | None:
        chart, spot = self.chart, self.over
        if chart is None or chart.field is None or spot is None or spot == self.spot:
            return None
        if self.dragged or chart.why(spot):
            return None
        figures = chart.figures(spot)
        shares = ", ".join(f"{100 * figures[r]:.0f}% {r}" for r in REGIMES)
        regime = REGIMES[int(figures["regime"])]
        interval = between(figures["low_s"], figures["high_s"], figures["period_s"])
        rows = (
            ("Time, 80%", f"{seconds(figures['period_s'])}, {interval}"),
            ("Shares", shares),
            ("Memory", data(figures["memory_bytes"])),
        )
        return Card(map_cursor.spot_words(chart, spot), rows, f"{regime}-bound", regime)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        spot = self.hit(event.position())
        left = event.button() == Qt.MouseButton.LeftButton
        if left and spot is not None and not self.stale:
            self.dragged = True
            self.move_to(spot)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        spot = self.nearest(event.position()) if self.dragged else None
        if spot is not None:
            self.move_to(spot)
        else:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.dragged and event.button() == Qt.MouseButton.LeftButton:
            self.dragged = False
            self.pressed_on.emit(self.spot)

    def move_to(self, spot: Spot) -> None:
        """Move the cursor; the scenario stays."""
        if spot != self.spot:
            self.spot, self.over = spot, None
            self.moved_to.emit(spot)
            self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        chart, key = self.chart, Qt.Key(event.key())
        steps = {
            Qt.Key.Key_Left: (-1, 0),
            Qt.Key.Key_Right: (1, 0),
            Qt.Key.Key_Up: (0, 1),
            Qt.Key.Key_Down: (0, -1),
        }
        if chart is None or chart.field is None or self.stale:
            super().keyPressEvent(event)
        elif key in steps:
            last = len(chart.x.values) - 1, len(chart.y.values) - 1
            here = self.spot or (last[0] // 2, last[1] // 2)
            x, y = (min(max(n + s, 0), m) for n, s, m in zip(here, steps[key], last, strict=True))
            self.move_to((x, y))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            if self.spot is not None:
                self.pressed_on.emit(self.spot)
        elif key == Qt.Key.Key_Escape and self.home is not None and self.spot != self.home:
            self.move_to(self.home)
        else:
            super().keyPressEvent(event)


def _spread(count: int, most: int) -> range:
    """At most `most` indices, spread evenly over `count`."""
    step = max(1, -(-count // most))
    return range(step // 2, count, step)


def _memory(chart: Chart) -> str:
    """The memory of the GPU, which is the same at every point."""
    assert chart.field is not None
    return trimmed(data(resolve(chart.field.mapped.sweep.scenarios[0]).gpu.memory_bytes))
