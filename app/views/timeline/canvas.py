"""The timeline's widget: its visible time range, the pointer and the keys."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from app.scenes.timeline.lanes import GPU_KINDS, HOST_KINDS, LAUNCHES
from app.theme import Theme
from app.views.timeline.picture import NameSpot, PinnedSpot, Spot, TimelinePicture

_MARGIN = 0.1  # margin on both sides of a centred selection, as a share of it
_LEAST_S = 2e-7  # the shortest window
_STILL_PX = 4.0  # a press that moves less than this is a click


class TimelineCanvas(TimelinePicture):
    """Moves the visible time range, and selects slices and time ranges."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.press_at: QPointF | None = None
        self.dragging_window = False

    # the window

    def reveal(self) -> None:
        """Scroll to the first picked kernel if no picked kernel is in view."""
        if self.lanes is None or not self.highlighted:
            return
        s, (low, high) = self.lanes.prediction.schedule, self.span
        if not ((s.start_s[self.highlighted] < high) & (s.end_s[self.highlighted] > low)).any():
            away = float(s.start_s[self.highlighted[0]]) - (low + high) / 2
            self.look(low + away, high + away)

    def look(self, low_s: float, high_s: float) -> None:
        """Show a time range, clipped to the step and at least 200 ns long."""
        if self.lanes is None:
            return
        whole = self.whole_s
        wide = min(max(high_s - low_s, min(_LEAST_S, whole)), whole)
        low = min(max((low_s + high_s - wide) / 2, 0.0), whole - wide)
        self.span = (low, low + wide)
        self.update()

    def fit(self) -> None:
        """Show the whole step."""
        self.look(0.0, self.whole_s)

    def focus(self) -> None:
        """Centre the selected range, else the picked kernels. Show the whole step if nothing is
        selected, or if the selection is shown already."""
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
            zoomed = self.frame.x.zoomed(pixel, times)
            self.look(zoomed.low, zoomed.high)

    def pan(self, share: float) -> None:
        """Pan by a share of the visible time range."""
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
            place = slices.within(*self.span).start
            if self.highlighted:  # the slice beside the first picked kernel
                begin = self.lanes.prediction.schedule.start_s[self.highlighted[0]]
                place = max(int(np.searchsorted(slices.begin_s, float(begin))) + by, 0)
            place = min(place, slices.count - 1)
        self._move_to(Spot(over.lane if over else "gpu", place))

    def _move_to(self, spot: Spot) -> None:
        slices = self.lane(spot.lane)
        begin, end = float(slices.begin_s[spot.place]), float(slices.end_s[spot.place])
        low, high = self.span
        if begin < low or end > high:
            half = max(high - low, 2 * (end - begin)) / 2
            middle = (begin + end) / 2
            self.look(middle - half, middle + half)
        self.at = QPointF(*self.box(spot).centre)
        self.show_over(spot)

    def _other_lane(self) -> None:
        """Move from a kernel to the op that launched it, or back."""
        if not isinstance(self.over, Spot) or self.lanes is None:
            return
        op = self.op(self.over)
        name = "host" if self.over.lane == "gpu" else "gpu"
        slices = self.lane(name)
        targets = [op] if name == "host" else self.lanes.kernels_of(frozenset([op])).tolist()
        kinds = (LAUNCHES,) if name == "host" else GPU_KINDS[:3]
        for place in np.flatnonzero(np.isin(slices.of, targets)).tolist():
            names = HOST_KINDS if name == "host" else GPU_KINDS
            if names[slices.kind[place]] in kinds:
                self._move_to(Spot(name, place))
                return

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta()
        if turned.x() or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(-(turned.x() or turned.y()) / 1200)
        else:
            at = min(max(event.position().x(), self.frame.x.begin), self.frame.x.end)
            self.zoom(at, 1.2 ** (turned.y() / 120))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.at = event.position()
        if event.button() == Qt.MouseButton.LeftButton:
            self.press_at = self.at
            self.dragging_window = self._in_overview(self.at)
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
            x = self.frame.x
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

    def lane_to_pin(self) -> NameSpot | None:
        """The lane under the pointer or chosen by a key, else the GPU's."""
        names = self.names() if self.lanes else []
        over, pins = self.over, {name.pin: name for name in names}
        if isinstance(over, NameSpot):
            return over
        if isinstance(over, PinnedSpot):
            return pins[self.pinned[over.row].pin]
        track = over.lane if isinstance(over, Spot) else "gpu"
        own = [name for name in names if name.pin.of == self.letter]
        return next((name for name in own if name.pin.track == track), None)

    def _in_overview(self, at: QPointF) -> bool:
        return self.frame.rows.overview.grown(0, 4).holds(at.x(), at.y())

    def _centre(self, pixel: float) -> None:
        half = (self.span[1] - self.span[0]) / 2
        middle = self.frame.whole.value(pixel)
        self.look(middle - half, middle + half)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        inside = self.frame.x.begin <= self.at.x() <= self.frame.x.end
        middle = self.at.x() if inside else (self.frame.x.begin + self.frame.x.end) / 2
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
        elif key == Qt.Key.Key_P:
            self.pressed_on.emit(self.lane_to_pin())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and self.over is not None:
            self.pressed_on.emit(self.over)
        elif key == Qt.Key.Key_Escape and (self.picked or self.area or self.over is not None):
            self.over, self.area = None, None
            self.update()
            self.pressed_on.emit(None)
        else:
            super().keyPressEvent(event)
