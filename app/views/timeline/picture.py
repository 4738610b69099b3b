"""The timeline as drawn: its lanes, selection and cards, with their geometry."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

from app.scenes.pixel_scale import Scale
from app.scenes.timeline import GPU_KINDS, HOST_KINDS, Lanes, Slices
from app.theme import SUPPORT_PX, Theme
from app.views.timeline.arrows import arrows
from app.views.timeline.cards import area_card, gpu_card, host_card
from app.views.timeline.paint import (
    IDLE,
    axis,
    band,
    gpu_lane,
    host_lane,
    module_row,
    outline,
    overview,
)
from app.views.timeline.rows import Rows, spread
from app.widgets.canvas import Canvas, Card
from app.widgets.paint import Paint

_LEFT, _RIGHT = 84.0, 14.0


@dataclass(frozen=True)
class Spot:
    """A slice: its lane, "host" or "gpu", and its index in the lane."""

    lane: str
    place: int


class TimelinePicture(Canvas):
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

    def choose(self, ops: frozenset[int]) -> None:
        """Outline the slices of these ops."""
        self.picked = ops
        self.highlighted = self.lanes.kernels_of(ops).tolist() if self.lanes and ops else []
        self.update()

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
            outline(paint, self.box(spot))
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
