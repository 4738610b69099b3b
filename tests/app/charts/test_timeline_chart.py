"""The timeline as a drawing."""

from itertools import pairwise

import pytest

from app.charts.timeline.frame import Frame
from app.charts.timeline.timeline import selection, timeline
from app.drawing import (
    TABULATED,
    Box,
    Drawing,
    Group,
    Item,
    Line,
    Path,
    Pattern,
    Rectangle,
    Rectangles,
    Text,
)
from app.scenes.timeline.lanes import Lanes, lanes
from simulator.prediction import Prediction


@pytest.fixture(scope="module")
def step(tiny_prediction: Prediction) -> Lanes:
    return lanes(tiny_prediction)


def frame_of(
    step: Lanes, span: tuple[float, float] | None = None, overview: bool = True, width: float = 1000
) -> Frame:
    return Frame(width, 400, span or (0.0, step.span_s), step.span_s, overview)


def inside(drawing: Drawing) -> list[Item]:
    (group,) = (item for item in drawing.items if isinstance(item, Group))
    return list(group.items)


def boxes(drawing: Drawing, row: Box) -> list[tuple[Box, object]]:
    """The boxes in a row with their fills, from left to right."""
    each: list[tuple[Box, object]] = []
    for item in inside(drawing):
        if isinstance(item, Rectangle):
            each.append((item.box, item.fill))
        elif isinstance(item, Rectangles):
            each += ((box, item.fill) for box in item.boxes)
    spans = [
        (box, fill) for box, fill in each if row.top - 1 <= box.top and box.bottom <= row.bottom
    ]
    return sorted(spans, key=lambda pair: pair[0].left)


def test_slices_are_drawn_to_scale(step: Lanes) -> None:
    frame = frame_of(step, width=20_098)  # 84 px left and 14 right of the lanes
    drawing = timeline(step, frame, TABULATED)
    for row in (frame.rows.host, frame.rows.gpu):
        drawn = [box for box, _ in boxes(drawing, row)]
        assert drawn[0].left >= 84 and drawn[-1].right <= 20_084.2
        pairs = pairwise(drawn)
        assert all(after.left >= box.right - 1.1 for box, after in pairs)
    busy = [b.width for b, fill in boxes(drawing, frame.rows.gpu) if fill != Pattern("idle")]
    p = step.prediction
    assert sum(busy) / 20_000 == pytest.approx(p.gpu_busy_s / step.span_s, rel=0.01)


def test_a_window_shows_only_its_slices(step: Lanes) -> None:
    kernel = int(step.prediction.columns.duration_s.argmax())
    s = step.prediction.schedule
    span = float(s.start_s[kernel]), float(s.end_s[kernel])
    frame = frame_of(step, span)
    drawn = boxes(timeline(step, frame, TABULATED), frame.rows.gpu)
    assert len(drawn) == 1
    assert (drawn[0][0].left, drawn[0][0].width) == pytest.approx((84, 1000 - 84 - 14 - 1))


def test_the_overview_can_be_left_out(step: Lanes) -> None:
    whole, bare = (
        timeline(step, frame_of(step, overview=overview), TABULATED) for overview in (True, False)
    )
    words = [{i.words for i in each.items if isinstance(i, Text)} for each in (whole, bare)]
    assert words[0] - words[1] == {"Whole step"} and not words[1] - words[0]
    assert frame_of(step, overview=False).rows.outer.top == 26


def test_each_lane_says_its_sums(step: Lanes) -> None:
    drawing = timeline(step, frame_of(step), TABULATED)
    spoken = {spot.key: spot.tooltip for spot in drawing.spots}
    assert set(spoken) == {"host", "gpu"}
    assert spoken["host"].startswith("launches ") and "waiting for the host" in spoken["gpu"]


def test_a_selection_is_an_outline_a_strong_arrow_and_a_band(step: Lanes) -> None:
    frame = frame_of(step)
    row = frame.rows.gpu
    box = Box(200, row.top, 40, row.height)
    group = selection(step, frame, [box], [3], (0.25 * step.span_s, 0.5 * step.span_s))
    curve, tip, outline, band, *edges = group.items
    assert isinstance(curve, Path) and isinstance(tip, Path) and curve.edge == tip.fill == "ink"
    end = curve.steps[-1]
    assert end[0] == "C" and end[5] == pytest.approx(
        frame.x.at(float(step.prediction.schedule.start_s[3]))
    )
    assert isinstance(outline, Rectangle) and outline.box == box.grown(1)
    assert isinstance(band, Rectangle)
    assert (band.box.left, band.box.right) == pytest.approx((84 + 902 / 4, 84 + 902 / 2))
    assert [edge.colour for edge in edges if isinstance(edge, Line)] == ["b", "b"]
    assert selection(step, frame, [], [], None).items == ()
