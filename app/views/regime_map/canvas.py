"""The plot of a regime map, with the cursor that the pointer drags and the keys move."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter

from app.charts.regime_map.axes import axes, chips, legend
from app.charts.regime_map.frame import Frame, frame_of
from app.charts.regime_map.ground import ground
from app.charts.regime_map.lines import lines, time_names
from app.charts.regime_map.names import names, times
from app.drawing import Box, Group, Item, Marker
from app.drawing.labels import Labels
from app.quantities import between, data, percent, seconds
from app.scenes.regime_map.scene import Chart, Spot
from app.theme import Theme
from app.views.regime_map import cursor as map_cursor
from app.widgets.canvas import Canvas, Card
from app.widgets.drawn import QT_METRICS, render
from app.widgets.paint import Paint
from simulator.prediction import REGIMES

_SIDE = 8.0
_HINT = "drag or arrow keys move, Enter selects"
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
        self.failure = ""
        """The reason why there is no map of the current scenario."""
        self._background: tuple[object, QImage] | None = None
        self.setMinimumSize(330, 280)

    def show_chart(self, chart: Chart, home: Spot | None) -> None:
        """Draw a map with the scenario at the point `home`."""
        self.chart, self.stale, self.over = chart, False, None
        self.failure = ""
        self.put(home)

    def fail(self, reason: str) -> None:
        """Show the reason in place of the map of an earlier scenario."""
        self.chart, self.stale, self.over, self.failure = None, False, None, reason
        self.put(None)

    def fade(self) -> None:
        """Fade the map until the map of another scenario is ready."""
        self.stale, self.failure = True, ""
        self.update()

    def put(self, home: Spot | None) -> None:
        """Move the scenario to a point; the cursor follows unless it is dragged."""
        self.home = home
        if not self.dragged:
            self.spot = home
        self.update()

    # geometry

    @property
    def frame(self) -> Frame | None:
        """The geometry of the map; None if there is no map."""
        box = Box(_SIDE, 0, self.width() - 2 * _SIDE, self.height())
        return frame_of(self.chart, box, QT_METRICS) if self.chart is not None else None

    def pixel(self, spot: Spot) -> QPointF:
        """The pixel of a point."""
        frame = self.frame
        assert frame is not None
        return QPointF(*frame.pixel(spot))

    # painting

    def draw(self, paint: Paint) -> None:
        frame = self.frame
        if frame is None:
            self._draw_message(paint, self.chart)
            return
        chart, area, spot = frame.chart, frame.plot, self.spot
        paint.painter.setOpacity(_STALE if self.stale else 1.0)
        self._ground(paint, frame)
        chosen = frame.pixel(spot) if spot is not None else None
        labels = Labels(area)
        above: list[Item] = []  # not clipped at the edges of the plot
        if chosen is not None:
            labels.take(Box.around(*chosen, 14))
            above += map_cursor.cross(chosen, area)
        if self.home is not None and self.home != spot:
            away = frame.pixel(self.home)
            above.append(Marker(*away, None, 6.0, "ink", True, edge_width=2.0))
        render([*axes(frame, QT_METRICS, chosen), Group(tuple(lines(frame)), area), *above], paint)
        if spot is not None and chosen is not None:
            map_cursor.card(paint, chart, spot, chosen, labels, self.home)
        items = names(frame, QT_METRICS, labels)
        items += (time_names if frame.field.smooth else times)(frame, QT_METRICS, labels)
        items += chips(frame, spot, QT_METRICS) if spot is not None else []
        render([*items, *legend(frame, QT_METRICS, _HINT)], paint)
        paint.painter.setOpacity(1.0)

    def _draw_message(self, paint: Paint, chart: Chart | None) -> None:
        """Show that the map is being computed, or the reason for a refusal."""
        waiting = self.failure or "Predicting over both axes …"
        self.paint_message(paint, f"No map.\n{chart.refused}" if chart else waiting)

    def _ground(self, paint: Paint, frame: Frame) -> None:
        """Paint the background from an image that is cached until its content changes."""
        key = (id(frame.chart), self.theme.name, frame.plot, paint.ratio)
        if self._background is None or self._background[0] != key:
            image = QImage(self.size() * paint.ratio, QImage.Format.Format_ARGB32_Premultiplied)
            image.setDevicePixelRatio(paint.ratio)
            image.fill(Qt.GlobalColor.transparent)
            painter = QPainter(image)
            render(ground(frame), Paint(painter, self.theme))
            painter.end()
            self._background = key, image
        paint.painter.drawImage(QPointF(0, 0), self._background[1])

    # the pointer and the keys

    def hit(self, at: QPointF) -> Spot | None:
        frame = self.frame
        if frame is None or not frame.plot.grown(8).holds(at.x(), at.y()):
            return None
        return frame.nearest(at.x(), at.y())

    def card(self) -> Card | None:
        chart, spot = self.chart, self.over
        if chart is None or chart.field is None or spot is None or spot == self.spot:
            return None
        if self.dragged or chart.why(spot):
            return None
        figures = chart.figures(spot)
        shares = ", ".join(f"{percent(figures[r])} {r}" for r in REGIMES)
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
        frame, at = self.frame, event.position()
        if self.dragged and frame is not None:
            self.move_to(frame.nearest(at.x(), at.y()))
        else:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.dragged and event.button() == Qt.MouseButton.LeftButton:
            self.dragged = False
            self.pressed_on.emit(self.spot)

    def move_to(self, spot: Spot) -> None:
        """Move the cursor without changing the scenario."""
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
            spot = self.spot or (last[0] // 2, last[1] // 2)
            x, y = (min(max(n + s, 0), m) for n, s, m in zip(spot, steps[key], last, strict=True))
            self.move_to((x, y))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            if self.spot is not None:
                self.pressed_on.emit(self.spot)
        elif key == Qt.Key.Key_Escape and self.home is not None and self.spot != self.home:
            self.move_to(self.home)
        else:
            super().keyPressEvent(event)
