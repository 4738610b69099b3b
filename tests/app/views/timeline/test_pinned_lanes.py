"""Pinned lanes of the timeline: the same seconds as in their scenario, pinned by click and key."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.scenes.timeline.lanes import lanes
from app.scenes.timeline.pins import Pin, pinned_lanes, without_side
from app.views.timeline.picture import NameSpot, PinnedSpot, Spot
from app.views.timeline.view import Timeline
from tests.app.views.conftest import pointer, svg

_GPU_OF_A, _HOST_OF_B = Pin("gpu", "A"), Pin("host", "B")
_PRESS, _RELEASE = QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease


def _click(canvas: Any, at: QPointF) -> None:
    pointer(canvas, _PRESS, at)
    pointer(canvas, _RELEASE, at)


def test_only_predicted_sides_have_pinned_lanes(side: Side, variant: Side) -> None:
    pins = (_HOST_OF_B, Pin("rank", "0"), _GPU_OF_A, Pin("gpu", "C"))
    drawn = lanes(side.prediction)
    pinned = pinned_lanes(pins, (side, variant), [drawn])
    assert [lane.pin for lane in pinned] == [_HOST_OF_B, _GPU_OF_A]
    assert pinned[1].lanes is drawn and pinned[0].lanes.prediction is variant.prediction
    assert pinned[0].slices is pinned[0].lanes.host and pinned[1].slices is drawn.gpu


def test_pins_follow_their_scenarios_when_one_is_removed() -> None:
    """After B is removed from A to D, C becomes B, and D becomes C."""
    pins = (*(Pin("gpu", letter) for letter in "ABCD"), Pin("rank", "3"))
    names = [pin.name for pin in without_side(pins, "ABCD", 1)]
    assert names == ["GPU of A", "GPU of B", "GPU of C", "rank 3"]


def test_a_pinned_lane_is_drawn_at_its_own_times(shown: Any, side: Side, variant: Side) -> None:
    """The step of A is longer than the step of B, and the axis covers both."""
    view = shown(Timeline, (side, variant), current=1)
    canvas = view.canvas
    alone_s = canvas.lanes.span_s
    view.show_pins((_GPU_OF_A,))
    longest = lanes(side.prediction).span_s
    assert longest > alone_s and canvas.span == (0.0, longest)
    kernel = int(side.prediction.columns.duration_s.argmax())
    s, x = side.prediction.schedule, canvas.frame.x
    middle = float(s.start_s[kernel] + s.end_s[kernel]) / 2
    row = canvas.frame.rows.pinned[0]
    spot = canvas.hit(QPointF(x.at(middle), row.centre[1]))
    assert isinstance(spot, PinnedSpot)
    box = canvas.pinned_box(spot)
    assert (box.left, box.top) == (pytest.approx(x.at(float(s.start_s[kernel]))), row.top)
    canvas.over = spot
    assert canvas.card().head == lanes(side.prediction).kernel_label(kernel)
    emitted: list[object] = []
    view.picked.connect(emitted.append)
    _click(canvas, QPointF(x.at(middle), row.centre[1]))
    assert emitted == []  # the ops of the pinned lane are not those of B
    view.show_pins(())
    assert canvas.span == (0.0, alone_s) and canvas.frame.rows.pinned == ()


def test_lanes_are_pinned_by_their_names_by_keys_and_by_the_button(
    shown: Any, side: Side, variant: Side, tmp_path: Path
) -> None:
    view = shown(Timeline, (side, variant), current=1)
    canvas = view.canvas
    asked: list[Pin] = []
    view.pin_requested.connect(asked.append)
    _click(canvas, QPointF(20, canvas.frame.rows.host.centre[1]))
    assert asked == [_HOST_OF_B]
    QTest.keyClick(canvas, Qt.Key.Key_P)
    assert asked.pop() == Pin("gpu", "B")  # without a chosen lane, the GPU's lane is pinned
    QTest.keyClick(canvas, Qt.Key.Key_Period)
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    assert canvas.over == Spot("host", canvas.over.place)
    QTest.keyClick(canvas, Qt.Key.Key_P)
    assert asked.pop() == _HOST_OF_B
    view.show_pins((_GPU_OF_A, _HOST_OF_B))
    assert "Unpin" in _name(canvas, canvas.frame.rows.pinned[0].centre[1])
    _click(canvas, QPointF(20, canvas.frame.rows.pinned[0].centre[1]))
    assert asked.pop() == _GPU_OF_A
    text = svg(view, tmp_path / "p.svg")
    assert ">A<" in text and ">B<" in text


def _name(canvas: Any, y: float) -> str:
    canvas.over = canvas.hit(QPointF(20, y))
    assert isinstance(canvas.over, NameSpot)
    return canvas.card().head
