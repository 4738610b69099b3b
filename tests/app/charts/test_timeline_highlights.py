"""Highlights of selected slices on the timeline cover each slice, at its width."""

import numpy as np
import pytest

from app.charts.timeline.highlights import highlights
from app.drawing import Box, Rectangle, Rectangles
from app.scenes.pixel_scale import Scale
from app.scenes.timeline.lanes import Slices

ROW = Box(100, 40, 1000, 20)
SCALE = Scale(0.0, 1.0, 100, 1100)  # 1 ms is a pixel


def slices_of(*spans_ms: tuple[float, float]) -> Slices:
    begin, end = (np.array(side) / 1e3 for side in zip(*spans_ms, strict=True))
    count = len(spans_ms)
    return Slices(begin, end, np.zeros(count, np.int64), np.arange(count), ("compute",))


def test_a_wide_slice_has_an_outline_inside_its_edges() -> None:
    (item,) = highlights(slices_of((100, 150)), np.array([0]), SCALE, ROW)
    assert isinstance(item, Rectangle) and item.edge == "ink" and item.fill is None
    # the middle of a line of two pixels is one pixel inside
    assert (item.box.left, item.box.right, item.edge_width) == (201, 249, 2)


def test_a_narrow_slice_is_filled_and_at_least_one_pixel_wide() -> None:
    spans = slices_of((10.2, 10.3), (20, 23), (1000 - 1e-6, 1000))
    (item,) = highlights(spans, np.arange(3), SCALE, ROW)
    assert isinstance(item, Rectangles) and item.fill == "ink"
    drawn = [(box.left, box.width) for box in item.boxes]
    assert drawn == [(110, 1), (120, 3), (1099, 1)]
    assert {(box.top, box.height) for box in item.boxes} == {(37, 26)}


def test_every_slice_is_covered_by_few_boxes() -> None:
    """10,000 slices of 0.05 pixels, in two places: one box over 250 pixels in each."""
    begin = np.concatenate([np.arange(5000) * 0.05, 600 + np.arange(5000) * 0.05])
    spans = slices_of(*zip(begin.tolist(), (begin + 0.05).tolist(), strict=True))
    (item,) = highlights(spans, np.arange(10_000), SCALE, ROW)
    assert isinstance(item, Rectangles)
    assert [(box.left, box.right) for box in item.boxes] == [(100, 350), (700, 950)]


def test_slices_outside_the_visible_range_are_left_out() -> None:
    visible = Scale(0.5, 0.6, 100, 1100)
    spans = slices_of((100, 110), (550, 551), (599, 700))
    (cut, item) = sorted(
        (i for i in highlights(spans, np.arange(3), visible, ROW) if isinstance(i, Rectangle)),
        key=lambda i: -i.box.left,
    )
    assert (item.box.left, item.box.right) == pytest.approx((601, 609))
    assert (cut.box.left, cut.box.right) == pytest.approx((1091, 1099))
