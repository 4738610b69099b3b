"""The timeline's widget: its window, pointer, keys and cards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from app.scenes.pixel_scale import Scale
from app.scenes.timeline import GPU_KINDS, HOST_KINDS, LAUNCHES, Lanes, Slices
from app.theme import SUPPORT_PX, Theme
from app.views.timeline.cards import area_card, gpu_card, host_card
from app.views.timeline.paint import (
    IDLE,
    Rows,
    arrows,
    axis,
    band,
    chosen,
    gpu_lane,
    host_lane,
    module_row,
    overview,
    spread,
)
from app.widgets.canvas import Canvas, Card
from app.widgets.paint import Paint

_LEFT, _RIGHT = 84.0, 14.0
_MARGIN = 0.1  # on both sides of a centred selection, as a share of it
_LEAST_S = 2e-7  # the shortest window
_STILL_PX = 4.0  # a press that moves less than this is a click


@dataclass(frozen=True)
class Spot:
    """A slice: its lane, "host" or "gpu", and its index in the lane."""

    lane: str
    place: int


class TimelineCanvas(Canvas):
    """`span` is the visible time range and `area` the selected one, in seconds; `over` is a Spot."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Timeline: the host's ops over the GPU's kernels")
        self.lanes: Lanes | None = None
        self.picked: frozenset[int] = frozenset()
        self.highlighted: list[int] = []
        self.span = (0.0, 1.0)
        self.area: tuple[float, float] | None = None
        self.press_at: QPointF | None = None
        self.dragging_window = False
        self.setMinimumSize(360, 140)

    def set(self, lanes: Lanes) -> None:
        """Draw the lanes; the window stays if it still lies within the step."""
        before, self.lanes, self.over, self.area = self.lanes, lanes, None, None
        if before is None or self.span[1] > lanes.span_s or self.span == (0.0, before.span_s):
            self.span = (0.0, lanes.span_s)
        self.choose(self.picked)

    def choose(self, ops: frozenset[int]) -> None:
        """Outline the slices of these ops."""
        self.picked = ops
        self.highlighted = self.lanes.kernels_of(ops).tolist() if self.lanes and ops else []
        self.update()

    def reveal(self) -> None:
        """Scroll to the first picked kernel if none is in view."""
        if self.lanes is None or not self.highlighted:
            return
        s, (low, high) = self.lanes.prediction.schedule, self.span
        if not ((s.start_s[self.highlighted] < high) & (s.end_s[self.highlighted] > low)).any():
            away = float(s.start_s[self.highlighted[0]]) - (low + high) / 2
            self.look(low + away, high + away)

    # geometry

    @property
    def rows(self) -> Rows:
        """The lanes in pixels."""
        return spread(QRectF(self.rect()), (_LEFT, _RIGHT))

    @property
    def scale(self) -> Scale:
        """The window's time axis."""
        row = self.rows.gpu
        return Scale(*self.span, row.left(), row.right())

    @property
    def whole(self) -> Scale:
        """The overview's time axis, which spans the whole step."""
        row = self.rows.overview
        return Scale(0.0, self.lanes.span_s if self.lanes else 1.0, row.left(), row.right())

    def lane(self, name: str) -> Slices:
        """The slices of a lane."""
        assert self.lanes is not None
        return self.lanes.gpu if name == "gpu" else self.lanes.host

    def box(self, spot: Spot) -> QRectF:
        """The rectangle of a slice."""
        slices, x = self.lane(spot.lane), self.scale
        row = self.rows.gpu if spot.lane == "gpu" else self.rows.host
        left = max(x.at(float(slices.begin_s[spot.place])), x.begin)
        right = min(x.at(float(slices.end_s[spot.place])), x.end)
        return QRectF(left, row.top(), max(2.0, right - left - 1), row.height())

    def op(self, spot: Spot) -> int:
        """The op of a slice; for idle time, the op that the GPU waited for."""
        assert self.lanes is not None
        index = int(self.lane(spot.lane).of[spot.place])
        return int(self.lanes.prediction.columns.op_of[index]) if spot.lane == "gpu" else index

    # painting

    def draw(self, paint: Paint) -> None:
        lanes = self.lanes
        if lanes is None:
            return
        theme, rows, x = self.theme, self.rows, self.scale
        axis(paint, x, rows.overview.bottom() + 14, rows.outer.top() - 3, rows.gpu.bottom() + 6)
        quiet, gpu = theme.ink3, rows.gpu
        flat = gpu.center().y() - 8 - rows.host.center().y() < 14  # two names would touch
        names = (
            ("Whole step", rows.overview, quiet, 400),
            ("Host", rows.outer, theme.ink, 600),
            ("modules", rows.inner, quiet, 400),
            ("ops and views", rows.host.translated(0, -4 if flat else 0), quiet, 400),
            ("GPU", gpu.translated(0, -8), theme.ink, 600),
            ("kernels", gpu.translated(0, 8), quiet, 400),
        )
        for words, row, ink, weight in names:
            paint.text(14, row.center().y(), words, ink, SUPPORT_PX if weight > 400 else 11, weight)
        overview(paint, lanes, self.whole, x, rows.overview)
        paint.painter.save()
        paint.painter.setClipRect(rows.area.adjusted(0, -4, 0, 8))
        module_row(paint, lanes.outer, x, rows.outer)
        module_row(paint, lanes.inner, x, rows.inner)
        host_lane(paint, lanes, x, rows.host)
        gpu_lane(paint, lanes, x, rows.gpu)
        over = self.over if isinstance(self.over, Spot) else None
        highlighted = list(self.highlighted)
        if over and over.lane == "gpu":
            highlighted.append(int(lanes.gpu.of[over.place]))
        elif over:
            highlighted += lanes.kernels_of(frozenset([self.op(over)])).tolist()
        arrows(paint, lanes, x, rows, highlighted)
        for spot in [*self._picked_spots(), *([over] if over else [])]:
            chosen(paint, self.box(spot))
        if self.area:
            band(paint, x.at(self.area[0]), x.at(self.area[1]), rows)
        paint.painter.restore()
        if self.area and over is None:
            right = QPointF(min(x.at(self.area[1]), x.end), rows.outer.top())
            area_card(lanes, *self.area).paint(paint, right, QRectF(self.rect()))

    def _picked_spots(self) -> list[Spot]:
        """The visible slices of picked ops, at most 120 per lane."""
        spots: list[Spot] = []
        if not self.picked or self.lanes is None:
            return spots
        for name, kinds, quiet in (("gpu", GPU_KINDS, IDLE), ("host", HOST_KINDS, IDLE)):
            slices = self.lane(name)
            rows = slices.within(*self.span)
            wanted = set(self.highlighted) if name == "gpu" else self.picked
            places = [
                rows.start + i for i, of in enumerate(slices.of[rows].tolist()) if of in wanted
            ]
            spots += [Spot(name, k) for k in places[:120] if kinds[slices.kind[k]] not in quiet]
        return spots

    # the pointer and the keys

    def hit(self, at: QPointF) -> Spot | None:
        if self.lanes is None:
            return None
        x = self.scale
        for name, row in (("gpu", self.rows.gpu), ("host", self.rows.host)):
            if row.contains(at):
                slack = abs(x.value(1.0) - x.value(0.0))
                place = self.lane(name).at(x.value(at.x()), slack)
                return None if place is None else Spot(name, place)
        return None

    def card(self) -> Card | None:
        if self.lanes is None or not isinstance(self.over, Spot):
            return None
        make = gpu_card if self.over.lane == "gpu" else host_card
        return make(self.lanes, self.over.place)

    def card_at(self) -> QPointF:
        if not isinstance(self.over, Spot) or self.lanes is None:
            return self.at
        box = self.box(self.over)
        near = min(max(self.at.x(), box.left()), box.right())
        return QPointF(near, box.top() - 6 if self.over.lane == "gpu" else box.bottom())

    def look(self, low_s: float, high_s: float) -> None:
        """Show a time range, clipped to the step and at least 200 ns long."""
        if self.lanes is None:
            return
        whole = self.lanes.span_s
        wide = min(max(high_s - low_s, min(_LEAST_S, whole)), whole)
        low = min(max((low_s + high_s - wide) / 2, 0.0), whole - wide)
        self.span = (low, low + wide)
        self.update()

    def fit(self) -> None:
        """Show the whole step."""
        self.look(0.0, self.lanes.span_s if self.lanes else 1.0)

    def focus(self) -> None:
        """Centre the selected range, else the picked kernels. Show the whole step if the selection
        is shown already, or if there is none."""
        before, selected = self.span, self._selected()
        if selected is not None:
            low, high = selected
            self.look(low - _MARGIN * (high - low), high + _MARGIN * (high - low))
        if selected is None or np.allclose(self.span, before, rtol=1e-9, atol=0.0):
            self.fit()

    def _selected(self) -> tuple[float, float] | None:
        """The time range of the selection, in seconds, or None."""
        if self.area is not None or self.lanes is None:
            return self.area
        if self.highlighted:
            s = self.lanes.prediction.schedule
            return float(s.start_s[self.highlighted].min()), float(s.end_s[self.highlighted].max())
        return None

    def zoom(self, pixel: float, times: float) -> None:
        """Zoom in by a factor around a pixel."""
        if (self.span[1] - self.span[0]) / times > _LEAST_S or times < 1:
            zoomed = self.scale.zoomed(pixel, times)
            self.look(zoomed.low, zoomed.high)

    def pan(self, share: float) -> None:
        """Move by a share of the window."""
        low, high = self.span
        away = share * (high - low)
        self.look(low + away, high + away)

    def step(self, by: int) -> None:
        """Move to the next slice of the lane and scroll it into view."""
        if self.lanes is None:
            return
        over = self.over if isinstance(self.over, Spot) else None
        slices = self.lane(over.lane if over else "gpu")
        if not slices.count:
            return
        if over:
            place = min(max(over.place + by, 0), slices.count - 1)
        else:
            place = min(slices.within(*self.span).start, slices.count - 1)
        self._move_to(Spot(over.lane if over else "gpu", place))

    def _move_to(self, spot: Spot) -> None:
        slices = self.lane(spot.lane)
        begin, end = float(slices.begin_s[spot.place]), float(slices.end_s[spot.place])
        low, high = self.span
        if begin < low or end > high:
            half = max(high - low, 2 * (end - begin)) / 2
            middle = (begin + end) / 2
            self.look(middle - half, middle + half)
        self.at = self.box(spot).center()
        self.show_over(spot)

    def _other_lane(self) -> None:
        """Move from a kernel to the op that launched it, or back."""
        if not isinstance(self.over, Spot) or self.lanes is None:
            return
        op = self.op(self.over)
        name = "host" if self.over.lane == "gpu" else "gpu"
        slices = self.lane(name)
        wanted = [op] if name == "host" else self.lanes.kernels_of(frozenset([op])).tolist()
        kinds = (LAUNCHES,) if name == "host" else GPU_KINDS[:3]
        for place in np.flatnonzero(np.isin(slices.of, wanted)).tolist():
            names = HOST_KINDS if name == "host" else GPU_KINDS
            if names[slices.kind[place]] in kinds:
                self._move_to(Spot(name, place))
                return

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta()
        if turned.x() or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(-(turned.x() or turned.y()) / 1200)
        else:
            at = min(max(event.position().x(), self.scale.begin), self.scale.end)
            self.zoom(at, 1.2 ** (turned.y() / 120))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.at = event.position()
        if event.button() == Qt.MouseButton.LeftButton:
            self.press_at = self.at
            self.dragging_window = self.rows.overview.adjusted(0, -4, 0, 4).contains(self.at)
            if self.dragging_window:
                self._centre(self.at.x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.press_at is None:
            super().mouseMoveEvent(event)
            return
        self.at = event.position()
        if self.dragging_window:
            self._centre(self.at.x())
        elif abs(self.at.x() - self.press_at.x()) > _STILL_PX or self.area is not None:
            x = self.scale
            ends = sorted(min(max(x.value(q.x()), x.low), x.high) for q in (self.press_at, self.at))
            self.area, self.over = (ends[0], ends[1]), None
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press_at, self.press_at = self.press_at, None
        if press_at is None or self.dragging_window:
            return
        if abs(event.position().x() - press_at.x()) <= _STILL_PX:
            if self.area is not None:
                self.area = None
                self.update()
            self.pressed_on.emit(self.hit(press_at))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()

    def _centre(self, pixel: float) -> None:
        half = (self.span[1] - self.span[0]) / 2
        middle = self.whole.value(pixel)
        self.look(middle - half, middle + half)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        inside = self.scale.begin <= self.at.x() <= self.scale.end
        middle = self.at.x() if inside else (self.scale.begin + self.scale.end) / 2
        if key in (Qt.Key.Key_W, Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(middle, 1.4)
        elif key in (Qt.Key.Key_S, Qt.Key.Key_Minus):
            self.zoom(middle, 1 / 1.4)
        elif key in (Qt.Key.Key_A, Qt.Key.Key_D):
            self.pan(0.2 if key == Qt.Key.Key_D else -0.2)
        elif key == Qt.Key.Key_F:
            self.focus()
        elif key in (Qt.Key.Key_Period, Qt.Key.Key_Right):
            self.step(1)
        elif key in (Qt.Key.Key_Comma, Qt.Key.Key_Left):
            self.step(-1)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._other_lane()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and self.over is not None:
            self.pressed_on.emit(self.over)
        elif key == Qt.Key.Key_Escape:
            self.over, self.area = None, None
            self.update()
            self.pressed_on.emit(None)
        else:
            super().keyPressEvent(event)
