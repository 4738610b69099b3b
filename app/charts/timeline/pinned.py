"""The pinned lanes of a timeline, above the lanes of the step."""

from __future__ import annotations

from collections.abc import Sequence

from app.charts.timeline.frame import Frame
from app.charts.timeline.lanes import gpu_lane, host_lane
from app.drawing import Box, Colour, Group, Item, Line, Metrics, Path, Role, Text
from app.drawing.colours import SIDES
from app.drawing.items import Step
from app.quantities import seconds
from app.scenes.timeline.pins import PinnedLane
from app.theme import SUPPORT_PX

_LETTERS = "ABCD"
PIN_X = 74.0
"""The x coordinate of the pin mark of a lane."""


def pinned_rows(pinned: Sequence[PinnedLane], frame: Frame, metrics: Metrics) -> list[Item]:
    """Each pinned lane with its name and the length of its step."""
    items: list[Item] = []
    inside: list[Item] = []
    for lane, row in zip(pinned, frame.rows.pinned, strict=True):
        x, y = frame.x, row.centre[1]
        draw = gpu_lane if lane.pin.track == "gpu" else host_lane
        inside += draw(lane.lanes, x, row, metrics)
        end = x.at(float(lane.slices.end_s[-1])) if lane.slices.count else x.begin
        words = f"{lane.pin.of} takes {seconds(lane.lanes.prediction.latency_s)}"
        if lane.pin.track == "gpu" and x.begin <= end < x.end - metrics.width(words) - 16:
            inside.append(Text(end + 8, y, words, "ink3"))
        items.append(Text(14, y, lane.pin.of, _colour(lane.pin.of), SUPPORT_PX, 600))
        items.append(
            Text(28, y, "GPU" if lane.pin.track == "gpu" else "Host", "ink", SUPPORT_PX, 600)
        )
        items += pin_mark(PIN_X, y, "b")
    if not pinned:
        return []
    below = frame.rows.pinned[-1].bottom + 4
    items.append(Line(((14, below), (frame.rows.area.right, below)), "line2"))
    return [*items, Group(tuple(inside), _clip(frame))]


def _clip(frame: Frame) -> Box:
    area = frame.rows.area
    return Box(area.left, area.top - 4, area.width, area.height + 12)


def _colour(letter: str) -> Role:
    return SIDES[_LETTERS.index(letter)]


def pin_mark(x: float, y: float, colour: Colour) -> list[Item]:
    """A drawing pin, 12 pixels high."""
    head: list[Step] = [
        ("M", x - 3, y - 6), ("L", x + 3, y - 6), ("L", x + 2, y - 1), ("L", x + 4, y + 1),
        ("L", x - 4, y + 1), ("L", x - 2, y - 1), ("Z",),
    ]  # fmt: skip
    return [Path(head, colour), Line(((x, y + 1), (x, y + 6)), colour, 1.2)]
