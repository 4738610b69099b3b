"""One step as three lanes: when managers, trucks and machines are busy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPixmap, QResizeEvent

from app.quantities import number, percent, plain, seconds, seconds_unit
from app.scenes.factory import MARKS, Factory
from app.scenes.pixel_scale import Floats, Scale
from app.scenes.timeline.lanes import WAITS, Ints, lanes
from app.theme import BODY_PX, LABEL_PX, Theme
from app.widgets.canvas import Canvas, Card
from app.widgets.paint import Paint, width
from simulator.hardware.host_counts import tail_s

_LEFT, _RIGHT, _TOP, _BOTTOM = 118.0, 20.0, 22.0, 8.0
_LEVELS = 8


@dataclass(frozen=True)
class Lane:
    """The start and end of each piece of work, sorted by time; `waits` labels the waiting time."""

    name: str
    busy: float
    begin_s: Floats
    end_s: Floats
    waits: str

    def filled(self, times_s: Floats) -> Floats:
        """The busy share of each interval between consecutive times."""
        at = np.stack([self.begin_s, self.end_s], axis=1).ravel()
        done = np.repeat(np.cumsum(self.end_s - self.begin_s), 2)
        if not at.size:
            return np.zeros(times_s.size - 1)
        done[::2] -= self.end_s - self.begin_s
        sums = np.interp(times_s, at, done)
        return np.diff(sums) / np.diff(times_s)


def lanes_of(f: Factory) -> tuple[Lane, ...]:
    """Return the three lanes of an isolated step. A kernel begins with its fixed part."""
    p = f.prediction
    host = lanes(p).host
    working = host.kind != host.kinds.index(WAITS)
    done_s = p.schedule.host_end_s
    # Python code after the last op, which belongs to no op
    after = np.array([done_s - tail_s(p.trace, p.host)] if p.mode == "eager" else [])
    work_begin = np.concatenate([host.begin_s[working], after])
    work_end = np.concatenate([host.end_s[working], np.full(after.size, done_s)])
    begin = f.start_s + p.columns.fixed_s
    idle = p.idle.host_s + p.idle.sync_s
    waits = (
        f"waiting for managers: idle {seconds(idle)} of {seconds(p.period_s)}"
        if idle > 0.02 * p.period_s
        else ""
    )
    ahead = f.span_s - done_s
    rest = f"done, waiting for the floor: {seconds(ahead)}" if ahead > 0.05 * f.span_s else ""
    return (
        Lane("Managers", f.managers_busy, work_begin, work_end, rest),
        Lane("Trucks", f.trucks_busy, begin, begin + p.columns.memory_s, waits),
        Lane("Machines", f.machines_busy, begin, begin + p.columns.compute_s, waits),
    )


class FactoryLanes(Canvas):
    """Lanes are filled where there is work; `at_s` is the time of the animation above."""

    over: int | None

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "One step, side by side")
        self.lanes: tuple[Lane, ...] = ()
        self.span_s = 0.0
        self.at_s: float | None = None
        self._still: QPixmap | None = None
        self.setMinimumHeight(110)

    def show_lanes(self, lanes: tuple[Lane, ...], span_s: float) -> None:
        """Show the lanes of a step that takes `span_s` seconds."""
        self.lanes, self.span_s, self._still = lanes, span_s, None
        busy = "; ".join(f"{lane.name} busy {percent(lane.busy)}" for lane in lanes)
        self.setAccessibleDescription(busy)
        self.update()

    def point_at(self, at_s: float | None) -> None:
        """Show the time of the animation."""
        self.at_s = at_s
        self.update()

    @property
    def area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_LEFT, _TOP, -_RIGHT, -_BOTTOM)

    @property
    def along(self) -> Scale:
        return Scale(0.0, self.span_s, self.area.left(), self.area.right())

    def _box(self, place: int) -> QRectF:
        high = (self.area.height() - 2 * 8) / 3
        return QRectF(
            self.area.left(), self.area.top() + place * (high + 8), self.area.width(), high
        )

    def draw(self, paint: Paint) -> None:
        if not self.lanes:
            return
        if paint.vector:
            self._drawn(paint)
        else:  # many slices that rarely change, below a line that moves
            if self._still is None or self._still.devicePixelRatio() != paint.ratio:
                self._still = QPixmap(self.size() * paint.ratio)
                self._still.setDevicePixelRatio(paint.ratio)
                self._still.fill(QColor(self.theme.bg1))
                painter = QPainter(self._still)
                self._drawn(Paint(painter, self.theme))
                painter.end()
            paint.painter.drawPixmap(QPointF(0, 0), self._still)
        if self.at_s is not None:
            x, area = self.along.at(self.at_s), self.area
            paint.line([(x, area.top() - 4), (x, area.bottom() + 2)], self.theme.ink, 1.6)

    def _drawn(self, paint: Paint) -> None:
        theme, area = self.theme, self.area
        scale, unit = seconds_unit(self.span_s)
        ticks = Scale(0.0, self.span_s / scale, area.left(), area.right()).ticks(9)
        for value, words in ticks:
            x = self.along.at(value * scale)
            name = f"{words} {unit}" if value == 0 else words
            paint.text(x, 10, name, theme.ink3, LABEL_PX, align=0.5)
        for place, lane in enumerate(self.lanes):
            self._lane(paint, lane, self._box(place))

    def restyle(self, theme: Theme) -> None:
        self._still = None
        super().restyle(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._still = None

    def _lane(self, paint: Paint, lane: Lane, box: QRectF) -> None:
        theme, regime = self.theme, MARKS[lane.name]
        y = box.center().y()
        paint.mark(regime, 22, y, 6)
        paint.text(36, y - 8, lane.name, theme.ink, BODY_PX, 600)
        paint.text(36, y + 8, f"busy {percent(lane.busy)}", theme.ink2, LABEL_PX)
        paint.area(box, "idle")
        pixels = max(1, int(box.width()))
        times = np.linspace(0.0, self.span_s, pixels + 1)
        level = np.ceil(lane.filled(times) * _LEVELS - 1e-6).astype(np.int64)
        ends = np.flatnonzero(np.diff(level, append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            if level[begin]:
                span = QRectF(box.left() + begin, box.top(), end - begin, box.height())
                if level[begin] == _LEVELS and span.width() > 12:
                    paint.area(span, regime)
                else:
                    share = 0.15 + 0.85 * float(level[begin]) / _LEVELS
                    paint.area(span, theme.regime(regime).fill, share)
            begin = end
        if lane.waits:
            self._wait_label(paint, lane, box, level)

    def _wait_label(self, paint: Paint, lane: Lane, box: QRectF, level: Ints) -> None:
        """Label the longest pause, or the middle of the lane if all pauses are short."""
        rest = np.concatenate([[0], (level == 0).astype(np.int64), [0]])
        first, last = np.flatnonzero(np.diff(rest) == 1), np.flatnonzero(np.diff(rest) == -1)
        x = box.center().x()
        if first.size and (last - first).max() > 0.15 * box.width():
            longest = int((last - first).argmax())
            x = box.left() + (first[longest] + last[longest]) / 2
        half = width(lane.waits, LABEL_PX, 600) / 2 + 8  # the label stays in the lane
        x = min(float(x), box.right() - half)
        paint.pill(x, box.center().y(), lane.waits, self.theme.overhead.ink, weight=600)

    def hit(self, at: QPointF) -> int | None:
        return next((i for i in range(len(self.lanes)) if self._box(i).contains(at)), None)

    def card(self) -> Card | None:
        if self.over is None or not self.lanes:
            return None
        lane = self.lanes[self.over]
        at_s = min(max(self.along.value(self.at.x()), 0.0), self.span_s)
        place = int(np.searchsorted(lane.begin_s, at_s, "right")) - 1
        working = place >= 0 and at_s < lane.end_s[place]
        begun = int(np.searchsorted(lane.begin_s, at_s, "right"))
        scale, unit = seconds_unit(self.span_s)
        rows = (
            ("At", f"{number(at_s / scale)} {unit}"),
            ("State", "busy" if working else "waiting"),
            ("Tasks started", plain(begun)),
            ("Busy", percent(lane.busy)),
        )
        return Card(lane.name, rows, "", MARKS[lane.name])
