from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec import structs
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.quantities import seconds
from app.scenes.pixel_scale import Scale
from app.scenes.timeline.lanes import GPU_KINDS, HOST_KINDS, Slices, lanes, split, visible
from app.theme import DARK, LIGHT, Theme
from app.views.timeline.cards import area_card, host_card
from app.views.timeline.picture import Spot
from app.views.timeline.view import Timeline, idle_words
from simulator.prediction import Columns, Idle, Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.schedule.launch_plan import issued
from simulator.schedule.timeline import Schedule
from tests.app.views.conftest import picture, pointer, svg

_PRESS, _MOVE, _RELEASE = (
    QEvent.Type.MouseButtonPress,
    QEvent.Type.MouseMove,
    QEvent.Type.MouseButtonRelease,
)


def slices(*rows: tuple[float, float, int]) -> Slices:
    begin, end, kind = (np.array(column) for column in zip(*rows, strict=True))
    return Slices(begin, end, kind, np.arange(len(rows)), ("x", "y"))


def test_the_gpu_lane_is_the_schedule(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    sums = lanes(p).gpu.sums(0.0, 1.0)
    busy = sum(value for name, value in sums.items() if name in GPU_KINDS[:3])
    assert busy == pytest.approx(p.gpu_busy_s)
    assert sums[GPU_KINDS[3]] + sums[GPU_KINDS[4]] == pytest.approx(p.schedule.idle_s.sum())


def test_the_host_lane_holds_every_op_and_ends_at_its_launch(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    host, known = lanes(p).host, issued(p.trace, p.gpu)
    assert sorted(host.of.tolist()) == list(range(len(p.trace.ops)))
    assert (np.diff(host.begin_s) >= -1e-15).all()
    assert host.begin_s[1:] == pytest.approx(host.end_s[:-1])  # the host is never idle here
    last = {op: float(t) for op, t in zip(p.columns.op_of, p.schedule.issue_s, strict=True)}
    for op, end, kind in zip(host.of, host.end_s, host.kind, strict=True):
        assert (int(op) in last) == (HOST_KINDS[kind] == "launches")
        assert end == pytest.approx(last.get(int(op), end))
    took = host.sums(0.0, 1.0)
    launching = known.launches.sum() * p.host.launch_s + p.host.op_s(known.counts).sum()
    assert sum(took.values()) == pytest.approx(launching)


def test_a_host_that_waits_for_a_sync_is_seen_waiting() -> None:
    p = predict(Scenario("mixtral-small", batch=1, seq=32, sizes={"layers": 1}, training=False))
    known, shown_lanes = issued(p.trace, p.gpu), lanes(p)
    assert known.sync_after.any()
    waits = shown_lanes.host.kind == HOST_KINDS.index("waits for the GPU")
    after = np.flatnonzero(known.sync_after[:-1])
    ends = np.maximum(p.schedule.issue_s[after], p.schedule.end_s[after]) + p.host.sync_s
    assert shown_lanes.host.end_s[waits][: after.size] == pytest.approx(ends)
    synced = set((after + 1).tolist())
    rows = shown_lanes.gpu.kind == GPU_KINDS.index("waiting for a sync")
    assert rows.any() and set(shown_lanes.gpu.of[rows].tolist()) <= synced


def test_each_pass_of_a_replayed_step_is_one_launch(application: Any) -> None:
    drawn = lanes(predict(Scenario("mlp-tiny", mode="reduce-overhead", training=True)))
    labels = [drawn.host_label(int(op)) for op in drawn.host.of]
    assert labels[1] == "graph" and labels.count("graph") == 2
    graph = drawn.graph_of(int(drawn.host.of[1]))
    assert len(graph) > 10 and {drawn.prediction.trace.ops[op].phase for op in graph} == {"forward"}
    card = host_card(drawn, 1)
    assert card.head == "graph"
    assert ("Kernels", str(drawn.kernels_of(graph).size)) in card.rows


def test_a_graph_is_one_launch(shown: Any, tmp_path: Path) -> None:
    scenario = Scenario("mlp-tiny", mode="cuda_graph")
    p = predict(scenario)
    drawn = lanes(p)
    assert drawn.host.count == 1 and drawn.launching.tolist() == [0]
    assert drawn.host_label(0) == "graph"
    view = shown(Timeline, (Side("A", "Graph", scenario, p),))
    view.canvas.look(0.9 * drawn.span_s, drawn.span_s)
    assert "one graph with every kernel" in svg(view, tmp_path / "g.svg")


def test_narrow_slices_merge_into_the_most_frequent_kind() -> None:
    lane = slices((0.0, 0.3, 0), (0.3, 0.9, 1), (2.0, 2.5, 0), (2.5, 3.0, 0), (4.0, 9.0, 1))
    seen = visible(lane, Scale(0.0, 10.0, 100.0, 110.0))
    assert seen.wide.tolist() == [4] and (seen.left[0], seen.right[0]) == (104.0, 109.0)
    assert seen.runs == [(100, 101, 1), (102, 103, 0)]
    later = visible(lane, Scale(2.6, 10.0, 0.0, 100.0))
    assert later.wide.tolist() == [3, 4]


def test_sums_of_a_span_and_places_of_times() -> None:
    lane = slices((0.0, 1.0, 0), (1.0, 3.0, 1), (5.0, 6.0, 0))
    assert lane.sums(0.5, 5.25) == {"x": 0.75, "y": 2.0}
    assert [lane.at(t) for t in (0.5, 2.0, 4.0, 5.5, 7.0)] == [0, 1, None, 2, None]
    assert lane.at(4.8, 0.25) == 2


def test_modules_as_layer_and_part() -> None:
    assert split("encoder.layer.4.attention.self.query") == ("encoder.layer.4", "attention.self")
    assert split("layers.3", "backward") == ("layers.3, backward", "")
    assert split("", "optimizer") == ("optimizer", "") and split("pooler.dense") == (
        "pooler",
        "dense",
    )


def test_f_centres_the_selection_and_then_fits(shown: Any, side: Side) -> None:
    view = shown(Timeline, (side,))
    canvas, whole = view.canvas, view.canvas.span
    p, last = side.prediction, side.prediction.kernel_count - 1
    view.pick(frozenset([int(p.columns.op_of[last])]))
    QTest.keyClick(canvas, Qt.Key.Key_F)
    (low, high), middle = canvas.span, (p.schedule.start_s[last] + p.schedule.end_s[last]) / 2
    took = float(p.schedule.end_s[last] - p.schedule.start_s[last])
    assert (low + high) / 2 == pytest.approx(middle, rel=0.1)
    assert took < high - low < 0.5 * whole[1]  # a margin of a tenth on both sides, if there is room
    QTest.keyClick(canvas, Qt.Key.Key_F)
    assert canvas.span == whole
    canvas.area = (0.2 * whole[1], 0.4 * whole[1])
    QTest.keyClick(canvas, Qt.Key.Key_F)
    assert canvas.span == pytest.approx((0.18 * whole[1], 0.42 * whole[1]))


def test_keys_zoom_pan_fit_and_walk(shown: Any, side: Side) -> None:
    view = shown(Timeline, (side,))
    canvas, whole = view.canvas, view.canvas.span
    span = whole[1]
    QTest.keyClick(canvas, Qt.Key.Key_W)
    low, high = canvas.span
    assert high - low == pytest.approx(span / 1.4)
    QTest.keyClick(canvas, Qt.Key.Key_A)
    assert canvas.span[0] == pytest.approx(max(0.0, low - 0.2 * (high - low)))
    for _ in range(9):
        QTest.keyClick(canvas, Qt.Key.Key_D)
    # the timeline does not go past the end of the step
    assert canvas.span[1] == pytest.approx(span)
    QTest.keyClick(canvas, Qt.Key.Key_F)
    assert canvas.span == whole
    emitted: list[frozenset[int]] = []
    view.picked.connect(emitted.append)
    QTest.keyClick(canvas, Qt.Key.Key_Period)
    QTest.keyClick(canvas, Qt.Key.Key_Period)
    assert canvas.over == Spot("gpu", 1)
    QTest.keyClick(canvas, Qt.Key.Key_Comma)
    assert canvas.over == Spot("gpu", 0) and canvas.card().note == "waiting for the host"
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert emitted == [frozenset([int(side.prediction.columns.op_of[0])])]
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    assert canvas.over.lane == "host" and canvas.op(canvas.over) in emitted[0]
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert emitted[-1] == frozenset() and canvas.over is None


def test_the_walk_begins_beside_the_picked_kernel(shown: Any, side: Side) -> None:
    view = shown(Timeline, (side,))
    canvas, slices = view.canvas, view.canvas.lanes.gpu
    kernel = side.prediction.kernel_count // 2
    view.pick(frozenset([int(side.prediction.columns.op_of[kernel])]))
    begin = side.prediction.schedule.start_s[canvas.highlighted[0]]
    at = int(np.flatnonzero(slices.begin_s == begin)[0])
    assert 0 < at < slices.count - 1
    QTest.keyClick(canvas, Qt.Key.Key_Comma)
    assert canvas.over == Spot("gpu", at - 1)
    canvas.show_over(None)
    QTest.keyClick(canvas, Qt.Key.Key_Period)
    assert canvas.over == Spot("gpu", at + 1)


def test_a_click_picks_and_a_drag_sums(shown: Any, side: Side) -> None:
    view = shown(Timeline, (side,))
    canvas, p = view.canvas, side.prediction
    emitted: list[frozenset[int]] = []
    view.picked.connect(emitted.append)
    kernel = int(np.argmax(p.columns.duration_s))
    middle = float(p.schedule.start_s[kernel] + p.schedule.end_s[kernel]) / 2
    at = QPointF(canvas.frame.x.at(middle), canvas.frame.rows.gpu.centre[1])
    for _ in range(2):
        pointer(canvas, _PRESS, at)
        pointer(canvas, _RELEASE, at)
    assert emitted == [frozenset([int(p.columns.op_of[kernel])]), frozenset()]
    end = QPointF(canvas.frame.x.end + 50, at.y())
    for kind, where in (
        (_PRESS, QPointF(canvas.frame.x.begin, at.y())),
        (_MOVE, end),
        (_RELEASE, end),
    ):
        pointer(canvas, kind, where)
    assert canvas.area == pytest.approx((0.0, view.canvas.lanes.span_s))
    assert len(emitted) == 2  # a drag picks nothing
    card = area_card(canvas.lanes, *canvas.area)
    assert card.note == f"{p.kernel_count} kernels"
    assert dict(card.rows)["GPU busy"].startswith(f"{1e6 * p.gpu_busy_s:.3g} µs")


def test_the_overview_moves_the_window(shown: Any, side: Side) -> None:
    canvas = shown(Timeline, (side,)).canvas
    canvas.look(0.0, canvas.lanes.span_s / 4)
    at = QPointF(
        canvas.frame.whole.at(canvas.lanes.span_s / 2), canvas.frame.rows.overview.centre[1]
    )
    pointer(canvas, _PRESS, at)
    pointer(canvas, _RELEASE, at)
    share = np.array(canvas.span) / canvas.lanes.span_s
    assert share == pytest.approx([0.375, 0.625], abs=1e-6)


def test_a_selection_of_another_view_is_scrolled_into_view(shown: Any, side: Side) -> None:
    view, p = shown(Timeline, (side,)), side.prediction
    span = view.canvas.lanes.span_s
    view.canvas.look(0.0, span / 50)
    op = int(p.columns.op_of[-1])
    view.pick(frozenset([op]))
    low, high = view.canvas.span
    first = p.columns.op_of.tolist().index(op)
    assert low <= p.schedule.start_s[first] <= high and high - low == pytest.approx(span / 50)
    view.pick(frozenset())
    assert view.canvas.span == (low, high)


def test_a_step_without_kernels(shown: Any, side: Side) -> None:
    none, no = np.zeros(0), np.zeros(0, np.int64)
    empty = replace(
        side.prediction,
        trace=structs.replace(side.prediction.trace, ops=[]),
        columns=Columns(no, no, none, none, none),
        schedule=Schedule(none, none, none, none, 1e-3),
    )
    view = shown(Timeline, (replace(side, prediction=empty),))
    assert len(view.rows()) == 1 and view.canvas.lanes.span_s == 1e-3
    QTest.keyClick(view.canvas, Qt.Key.Key_Period)
    assert view.canvas.over is None


def test_idle_time_as_text(tiny_prediction: Prediction) -> None:
    p = replace(tiny_prediction, period_s=5e-3, gpu_busy_s=3.5e-3, idle=Idle(1.46e-3, 0.0))
    assert idle_words(p) == ("GPU idle 1.50 ms: 1.46 waiting for the host, 0.0400 between kernels")
    assert idle_words(replace(p, idle=Idle(1e-3, 4.6e-4))) == (
        "GPU idle 1.50 ms: 1.00 waiting for the host, 0.460 waiting for a sync, "
        "0.0400 between kernels"
    )
    never = replace(p, idle=Idle(0.0, 0.0), gpu_busy_s=5e-3)
    assert idle_words(never) == "GPU never idle in a loop of steps"


def test_gaps_of_a_graph_are_distinguished_from_waits_for_the_host() -> None:
    p = predict(Scenario("mlp-tiny", mode="cuda_graph"))
    drawn = lanes(p)
    begin, end = float(drawn.gpu.begin_s[0]), float(drawn.gpu.end_s[-1])
    rows = dict(area_card(drawn, begin, end).rows)
    gaps = end - begin - sum(drawn.gpu.sums(begin, end).values())
    assert gaps > 0 and rows["Idle, between kernels"].startswith(f"{seconds(gaps)}, ")
    assert "waiting for the host" not in idle_words(p)


def test_the_table_the_svg_and_the_theme(
    shown: Any, side: Side, theme: Theme, tmp_path: Path
) -> None:
    view = shown(Timeline, (side,), theme=theme)
    rows = view.rows()
    assert len(rows) == side.prediction.kernel_count + 1
    assert {len(row) for row in rows} == {len(rows[0])}
    text = svg(view, tmp_path / "t.svg")
    ElementTree.fromstring(text)
    assert "Whole step" in text and "kernels" in text
    other = LIGHT if theme is DARK else DARK
    before = picture(view)
    view.restyle(other)
    assert picture(view).pixelColor(3, 60).name().upper() == other.bg1
    assert before.pixelColor(3, 60).name().upper() == theme.bg1
    assert view.accessibleName() == "Timeline" and view.canvas.accessibleName()
