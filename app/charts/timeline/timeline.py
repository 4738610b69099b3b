"""The timeline of a step, and the marks above it for a selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.charts.timeline.arrows import arrows, strong_arrows
from app.charts.timeline.axis import axis, overview, row_names
from app.charts.timeline.frame import Frame
from app.charts.timeline.lanes import gpu_lane, host_lane, module_row
from app.charts.timeline.pinned import pinned_rows
from app.drawing import Box, Drawing, Group, Item, Line, Metrics, Rectangle, Spot
from app.quantities import percent, seconds
from app.scenes.timeline.lanes import Lanes, Slices
from app.scenes.timeline.pins import PinnedLane

_BAND = 0.13  # opacity of a selected time range


def timeline(
    lanes: Lanes, frame: Frame, metrics: Metrics, pinned: Sequence[PinnedLane] = ()
) -> Drawing:
    """The modules and ops of the host above the kernels of the GPU, with an arrow from each launch
    to its kernel, and the whole step on top if the frame has an overview. The pinned lanes, as many
    as the frame has, are above all others."""
    rows, x = frame.rows, frame.x
    inside = (
        *module_row(lanes.outer, x, rows.outer, metrics),
        *module_row(lanes.inner, x, rows.inner, metrics),
        *host_lane(lanes, x, rows.host, metrics),
        *gpu_lane(lanes, x, rows.gpu, metrics),
        *arrows(lanes, frame),
    )
    items = (
        *axis(frame, metrics),
        *row_names(frame),
        *(overview(lanes, frame) if frame.overview else ()),
        Group(inside, _clip(frame)),
        *pinned_rows(pinned, frame, metrics),
    )
    spots = (
        Spot("host", rows.host, sums_sentence(lanes.host, frame.span)),
        Spot("gpu", rows.gpu, sums_sentence(lanes.gpu, frame.span)),
    )
    title = "Timeline: the host's ops over the GPU's kernels"
    return Drawing(frame.width, frame.height, items, spots, title)


def selection(
    lanes: Lanes,
    frame: Frame,
    boxes: Iterable[Box],
    kernels: Iterable[int],
    area: tuple[float, float] | None,
    marked: Sequence[Item] = (),
) -> Group:
    """Highlights of slices (`marked`), outlines around boxes, strong arrows to kernels, and a band
    over a time range in seconds."""
    items: list[Item] = [*marked, *strong_arrows(lanes, frame, kernels)]
    for box in boxes:
        items.append(Rectangle(box.grown(1), edge="ink", edge_width=2.0, radius=3))
    if area is not None:
        left, right = map(frame.x.at, area)
        inside = frame.rows.area
        top, bottom = inside.top - 2, inside.bottom + 4
        items.append(Rectangle(Box.between(left, top, right, bottom), "b", opacity=_BAND))
        items += (Line(((at, top), (at, bottom)), "b", 1.6) for at in (left, right))
    return Group(tuple(items), _clip(frame))


def _clip(frame: Frame) -> Box:
    area = frame.rows.area
    return Box(area.left, area.top - 4, area.width, area.height + 12)


def sums_sentence(slices: Slices, span: tuple[float, float]) -> str:
    """The time and share of each kind of slice in a range: "compute 4.02 ms (70%), …"."""
    low, high = span
    sums = slices.sums(low, high).items()
    return ", ".join(f"{k} {seconds(s)} ({percent(s / (high - low))})" for k, s in sums if s > 0)
