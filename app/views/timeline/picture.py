"""The timeline in a window: its lanes, selection and cards, with their geometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.charts.timeline.frame import PINNED_PX, Frame
from app.charts.timeline.highlights import highlights
from app.charts.timeline.lanes import IDLE
from app.charts.timeline.pinned import PIN_X, pin_mark
from app.charts.timeline.timeline import selection, timeline
from app.drawing import Box, Drawing, Item
from app.scenes.timeline.lanes import GPU_KINDS, HOST_KINDS, Lanes, Slices
from app.scenes.timeline.pins import Pin, PinnedLane
from app.theme import Theme
from app.views.timeline.cards import area_card, gpu_card, host_card
from app.widgets.canvas import Card
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from app.widgets.paint import Paint

_LEAST_PX = 140


@dataclass(frozen=True)
class Spot:
    """A slice: its lane, "host" or "gpu", and its index in the lane."""

    lane: str
    place: int


@dataclass(frozen=True)
class PinnedSpot:
    """A slice of a pinned lane: the row of the lane and the index of the slice."""

    row: int
    place: int


@dataclass(frozen=True)
class NameSpot:
    """The name of a lane; a click on it pins or unpins the lane."""

    pin: Pin
    box: Box
    pinned: bool


class TimelinePicture(DrawingCanvas):
    """`span` is the visible time range, `area` the selected one, in seconds; `over` is a
    Spot, a PinnedSpot or a NameSpot. `letter` is the scenario's."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Timeline: the host's ops over the GPU's kernels")
        self.lanes: Lanes | None = None
        self.letter = "A"
        self.pinned: tuple[PinnedLane, ...] = ()
        self.picked: frozenset[int] = frozenset()
        self.highlighted: list[int] = []
        self.span = (0.0, 1.0)
        self.area: tuple[float, float] | None = None
        self.setMinimumSize(360, _LEAST_PX)

    def set(self, lanes: Lanes) -> None:
        """Draw the lanes; the visible time range is kept if it still lies within the step."""
        fits = self.lanes is None or self.span == (0.0, self.whole_s)
        self.lanes, self.over, self.area = lanes, None, None
        if fits or self.span[1] > self.whole_s:
            self.span = (0.0, self.whole_s)
        self.choose(self.picked)
        self.redraw()

    def pin(self, pinned: Sequence[PinnedLane]) -> None:
        """Show these lanes above the others; if the whole step is visible, it remains so."""
        fits = self.span == (0.0, self.whole_s)
        self.pinned, self.over = tuple(pinned), None
        if fits or self.span[1] > self.whole_s:
            self.span = (0.0, self.whole_s)
        self.setMinimumHeight(round(_LEAST_PX + PINNED_PX * len(self.pinned)))
        self.redraw()

    @property
    def whole_s(self) -> float:
        """The length of the longest step shown, in seconds."""
        shown = [lane.lanes for lane in self.pinned]
        return max((each.span_s for each in (self.lanes, *shown) if each), default=1.0)

    def choose(self, ops: frozenset[int]) -> None:
        """Outline the slices of these ops."""
        self.picked = ops
        self.highlighted = self.lanes.kernels_of(ops).tolist() if self.lanes and ops else []
        self.update()

    # geometry

    @property
    def frame(self) -> Frame:
        """The rows and the time axes of the drawing."""
        return Frame(self.width(), self.height(), self.span, self.whole_s, pinned=len(self.pinned))

    def lane(self, name: str) -> Slices:
        """The slices of a lane."""
        assert self.lanes is not None
        return self.lanes.gpu if name == "gpu" else self.lanes.host

    def box(self, spot: Spot) -> Box:
        """The rectangle of a slice."""
        rows = self.frame.rows
        return self._box(self.lane(spot.lane), spot.place, getattr(rows, spot.lane))

    def _box(self, slices: Slices, place: int, row: Box) -> Box:
        x = self.frame.x
        left = max(x.at(float(slices.begin_s[place])), x.begin)
        right = min(x.at(float(slices.end_s[place])), x.end)
        return Box(left, row.top, max(2.0, right - left - 1), row.height)

    def pinned_box(self, spot: PinnedSpot) -> Box:
        """The rectangle of a slice of a pinned lane."""
        return self._box(self.pinned[spot.row].slices, spot.place, self.frame.rows.pinned[spot.row])

    def op(self, spot: Spot) -> int:
        """The op of a slice; for idle time, the op that the GPU waited for."""
        assert self.lanes is not None
        index = int(self.lane(spot.lane).of[spot.place])
        return int(self.lanes.prediction.columns.op_of[index]) if spot.lane == "gpu" else index

    # the drawing

    def drawing(self, width: float, height: float) -> Drawing | None:
        if self.lanes is None:
            return None
        return timeline(self.lanes, self.frame, QT_METRICS, self.pinned)

    def depends_on(self) -> object:
        return self.span

    def overlay(self) -> tuple[Item, ...]:
        lanes, over = self.lanes, self.over
        if lanes is None:
            return ()
        kernels, boxes = list(self.highlighted), list[Box]()
        if isinstance(over, Spot):
            boxes.append(self.box(over))
            if over.lane == "gpu":
                kernels.append(int(lanes.gpu.of[over.place]))
            else:
                kernels += lanes.kernels_of(frozenset([self.op(over)])).tolist()
        if isinstance(over, PinnedSpot):
            boxes.append(self.pinned_box(over))
        marks: list[Item] = []
        if isinstance(over, NameSpot) and not over.pinned:
            marks = pin_mark(PIN_X, over.box.centre[1], "ink2")
        return selection(lanes, self.frame, boxes, kernels, self.area, self.marked()), *marks

    def draw(self, paint: Paint) -> None:
        super().draw(paint)
        if self.lanes and self.area and not isinstance(self.over, Spot):
            frame = self.frame
            right = QPointF(min(frame.x.at(self.area[1]), frame.x.end), frame.rows.outer.top)
            area_card(self.lanes, *self.area).paint(paint, right, QRectF(self.rect()))

    def marked(self) -> list[Item]:
        """The highlights of the visible slices of picked ops."""
        items: list[Item] = []
        if not self.picked or self.lanes is None:
            return items
        for name, kinds in (("gpu", GPU_KINDS), ("host", HOST_KINDS)):
            slices = self.lane(name)
            rows = slices.within(*self.span)
            picked = self.highlighted if name == "gpu" else [*self.picked]
            idle = [index for index, kind in enumerate(kinds) if kind in IDLE]
            here = np.isin(slices.of[rows], picked) & ~np.isin(slices.kind[rows], idle)
            places = rows.start + np.flatnonzero(here)
            items += highlights(slices, places, self.frame.x, getattr(self.frame.rows, name))
        return items

    def hit(self, at: QPointF) -> Spot | PinnedSpot | NameSpot | None:
        if self.lanes is None:
            return None
        x, rows = self.frame.x, self.frame.rows
        for spot in self.names():
            if spot.box.holds(at.x(), at.y()):
                return spot
        slack = abs(x.value(1.0) - x.value(0.0))
        for name, row in (("gpu", rows.gpu), ("host", rows.host)):
            if row.holds(at.x(), at.y()):
                place = self.lane(name).at(x.value(at.x()), slack)
                return None if place is None else Spot(name, place)
        for index, row in enumerate(rows.pinned):
            if row.holds(at.x(), at.y()):
                place = self.pinned[index].slices.at(x.value(at.x()), slack)
                return None if place is None else PinnedSpot(index, place)
        return None

    def names(self) -> list[NameSpot]:
        """The names of the lanes that can be pinned, and of the pinned ones."""
        rows = self.frame.rows
        own = Pin("gpu", self.letter), Pin("host", self.letter)
        lanes = [(lane.pin, row) for lane, row in zip(self.pinned, rows.pinned, strict=True)]
        known = {pin for pin, _ in lanes}
        lanes += zip(own, (rows.gpu, rows.host), strict=True)
        return [NameSpot(pin, Box(0, r.top, r.left, r.height), pin in known) for pin, r in lanes]

    def card(self) -> Card | None:
        over = self.over
        if self.lanes is None or over is None:
            return None
        if isinstance(over, NameSpot):
            verb = "Unpin" if over.pinned else "Pin"
            return Card(f"{verb} {over.pin.name}", (), "P")
        if isinstance(over, PinnedSpot):
            lane = self.pinned[over.row]
            track, drawn = lane.pin.track, lane.lanes
        else:
            track, drawn = over.lane, self.lanes
        return (gpu_card if track == "gpu" else host_card)(drawn, over.place)

    def card_at(self) -> QPointF:
        if not isinstance(self.over, Spot) or self.lanes is None:
            return self.at
        box = self.box(self.over)
        near = min(max(self.at.x(), box.left), box.right)
        return QPointF(near, box.top - 6 if self.over.lane == "gpu" else box.bottom)
