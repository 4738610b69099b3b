"""The timeline in a window: its lanes, selection and cards, with their geometry."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

from app.charts.timeline.frame import Frame
from app.charts.timeline.lanes import IDLE
from app.charts.timeline.timeline import selection, timeline
from app.drawing import Box, Drawing, Item
from app.scenes.timeline.lanes import GPU_KINDS, HOST_KINDS, Lanes, Slices
from app.theme import Theme
from app.views.timeline.cards import area_card, gpu_card, host_card
from app.widgets.canvas import Card
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from app.widgets.paint import Paint

_MOST_OUTLINED = 120


@dataclass(frozen=True)
class Spot:
    """A slice: its lane, "host" or "gpu", and its index in the lane."""

    lane: str
    place: int


class TimelinePicture(DrawingCanvas):
    """`span` is the visible time range, `area` the selected one, in seconds; `over` is a Spot."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Timeline: the host's ops over the GPU's kernels")
        self.lanes: Lanes | None = None
        self.picked: frozenset[int] = frozenset()
        self.highlighted: list[int] = []
        self.span = (0.0, 1.0)
        self.area: tuple[float, float] | None = None
        self.setMinimumSize(360, 140)

    def set(self, lanes: Lanes) -> None:
        """Draw the lanes; the window stays if it still lies within the step."""
        before, self.lanes, self.over, self.area = self.lanes, lanes, None, None
        if before is None or self.span[1] > lanes.span_s or self.span == (0.0, before.span_s):
            self.span = (0.0, lanes.span_s)
        self.choose(self.picked)
        self.redraw()

    def choose(self, ops: frozenset[int]) -> None:
        """Outline the slices of these ops."""
        self.picked = ops
        self.highlighted = self.lanes.kernels_of(ops).tolist() if self.lanes and ops else []
        self.update()

    # geometry

    @property
    def frame(self) -> Frame:
        """The rows and the time axes of the drawing."""
        whole_s = self.lanes.span_s if self.lanes else 1.0
        return Frame(self.width(), self.height(), self.span, whole_s)

    def lane(self, name: str) -> Slices:
        """The slices of a lane."""
        assert self.lanes is not None
        return self.lanes.gpu if name == "gpu" else self.lanes.host

    def box(self, spot: Spot) -> Box:
        """The rectangle of a slice."""
        slices, frame = self.lane(spot.lane), self.frame
        x, row = frame.x, frame.rows.gpu if spot.lane == "gpu" else frame.rows.host
        left = max(x.at(float(slices.begin_s[spot.place])), x.begin)
        right = min(x.at(float(slices.end_s[spot.place])), x.end)
        return Box(left, row.top, max(2.0, right - left - 1), row.height)

    def op(self, spot: Spot) -> int:
        """The op of a slice; for idle time, the op that the GPU waited for."""
        assert self.lanes is not None
        index = int(self.lane(spot.lane).of[spot.place])
        return int(self.lanes.prediction.columns.op_of[index]) if spot.lane == "gpu" else index

    # the drawing

    def drawing(self, width: float, height: float) -> Drawing | None:
        return timeline(self.lanes, self.frame, QT_METRICS) if self.lanes else None

    def depends_on(self) -> object:
        return self.span

    def overlay(self) -> tuple[Item, ...]:
        lanes, over = self.lanes, self.over
        if lanes is None:
            return ()
        kernels, spots = list(self.highlighted), self._picked_spots()
        if isinstance(over, Spot):
            spots.append(over)
            if over.lane == "gpu":
                kernels.append(int(lanes.gpu.of[over.place]))
            else:
                kernels += lanes.kernels_of(frozenset([self.op(over)])).tolist()
        return (selection(lanes, self.frame, map(self.box, spots), kernels, self.area),)

    def draw(self, paint: Paint) -> None:
        super().draw(paint)
        if self.lanes and self.area and not isinstance(self.over, Spot):
            frame = self.frame
            right = QPointF(min(frame.x.at(self.area[1]), frame.x.end), frame.rows.outer.top)
            area_card(self.lanes, *self.area).paint(paint, right, QRectF(self.rect()))

    def _picked_spots(self) -> list[Spot]:
        """The visible slices of picked ops, at most `_MOST_OUTLINED` per lane."""
        spots: list[Spot] = []
        if not self.picked or self.lanes is None:
            return spots
        for name, kinds in (("gpu", GPU_KINDS), ("host", HOST_KINDS)):
            slices = self.lane(name)
            rows = slices.within(*self.span)
            wanted = set(self.highlighted) if name == "gpu" else self.picked
            places = [
                rows.start + i for i, of in enumerate(slices.of[rows].tolist()) if of in wanted
            ]
            shown = places[:_MOST_OUTLINED]
            spots += [Spot(name, k) for k in shown if kinds[slices.kind[k]] not in IDLE]
        return spots

    def hit(self, at: QPointF) -> Spot | None:
        if self.lanes is None:
            return None
        x, rows = self.frame.x, self.frame.rows
        for name, row in (("gpu", rows.gpu), ("host", rows.host)):
            if row.holds(at.x(), at.y()):
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
        near = min(max(self.at.x(), box.left), box.right)
        return QPointF(near, box.top - 6 if self.over.lane == "gpu" else box.bottom)
