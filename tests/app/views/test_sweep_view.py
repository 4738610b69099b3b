from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.measured_as import difference
from app.answers.side import Side
from app.answers.sweeps.axes import AxisValues
from app.quantities import number, seconds
from app.scenes.sweep.curves import finer, moved
from app.scenes.sweep.measured import points
from app.theme import DARK, LIGHT, Theme
from app.views.sweep.view import Sweep
from simulator.analysis.regimes import Shift
from simulator.measured.profiler_trace import read
from simulator.measured.steps import alike
from simulator.scenario.scenario import Applied, Scenario, predict
from tests.app.views.conftest import picture, pointer, svg

TRACES = Path(__file__).parents[2] / "simulator" / "profiler_traces"


def test_the_curve_passes_through_the_prediction_and_shares_add_up(
    shown: Any, side: Side, theme: Theme
) -> None:
    view = shown(Sweep, (side,), theme=theme)
    curve, p = view.canvas.first, side.prediction
    here = curve.row(32)
    assert here is not None and curve.here == 32 == p.trace.samples
    assert curve.columns["period_s"][here] == pytest.approx(p.period_s, rel=1e-12)
    assert (curve.columns["low_s"][here], curve.columns["high_s"][here]) == pytest.approx(
        p.interval_s
    )
    total = sum(curve.columns[r] for r in ("compute", "memory", "overhead"))
    assert np.allclose(total, 1)
    assert curve.values[0] == 1 and curve.values[-1] == 256  # up to 8 times the current value
    assert picture(view).pixelColor(4, 60).name().upper() == theme.bg1


def test_points_between_doublings_and_where_the_scenario_is() -> None:
    line = AxisValues("batch", (1, 2, 4, 8), "samples", True, True)
    assert finer(line, 3).values == (1, 2, 3, 4, 5, 6, 7, 8)
    assert finer(replace(line, values=(8, 16, 20)), 11).values == (
        8,
        10,
        11,
        12,
        14,
        16,
        17,
        18,
        19,
        20,
    )
    assert finer(replace(line, name="seq", values=(64, 128)), 64).values == (64, 96, 128)


def test_keys_walk_the_points_and_enter_predicts(shown: Any, side: Side) -> None:
    view = shown(Sweep, (side,))
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    canvas = view.canvas
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert emitted == []
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.first.values[canvas.over] == 40  # a quarter of a doubling after 32
    card = canvas.card()
    assert card and card.head == "Batch 40" and card.note.endswith("-bound")
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert emitted == [Scenario("mlp-tiny", batch=40)]
    QTest.keyClick(canvas, Qt.Key.Key_End)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.first.values[canvas.over] == 256
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert canvas.over is None


def test_a_click_requests_the_batch_under_it(shown: Any, side: Side) -> None:
    view = shown(Sweep, (side,))
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    at = QPointF(view.canvas.frame.x.at(128) + 1, view.canvas.frame.below.centre[1])
    pointer(view.canvas, QEvent.Type.MouseButtonPress, at)
    assert emitted == [Scenario("mlp-tiny", batch=128)]
    pointer(view.canvas, QEvent.Type.MouseButtonPress, QPointF(3, 3))
    pointer(view.canvas, QEvent.Type.MouseButtonPress, QPointF(view.canvas.frame.x.at(32), at.y()))
    assert len(emitted) == 1  # outside the axis, and at the current value, nothing is emitted


def test_a_batch_takes_the_place_of_the_one_before() -> None:
    scenario = Scenario("mlp-tiny", whatifs=(Applied("batch", {"samples": 64}),))
    assert moved(scenario, "batch", 16) == Scenario("mlp-tiny", batch=16)
    graph = Applied("cuda_graph", {})
    twice = moved(moved(replace(scenario, whatifs=(graph,)), "batch", 64), "batch", 16)
    assert [a.name for a in twice.whatifs] == ["cuda_graph", "batch"]
    assert predict(twice).trace.samples == 16


def test_the_switch_sends_a_new_request_and_a_late_answer_is_dropped(
    shown: Any, side: Side
) -> None:
    view = shown(Sweep, (side,))
    late = view.canvas.sweep
    emitted: list[str] = []
    view.question_changed.connect(lambda: emitted.append(view.axis))
    view.switch.button(0).click()
    view.switch.button(1).setEnabled(True)
    view.switch.button(1).click()
    assert emitted == ["seq"] and view.canvas.sweep is None
    view.answer(late)
    assert view.canvas.sweep is None
    assert view.subtitle() == "time and shares over sequence length"
    question = view.question((side,), 0)
    assert question is not None
    view.answer(question(lambda: False))
    assert view.canvas.sweep.refused == "mlp-tiny has no sequence length to change"
    assert view.rows() == [] and not picture(view).isNull()


def test_a_network_without_sequence_says_so_at_the_switch(shown: Any, side: Side) -> None:
    view = shown(Sweep, (side,))
    assert not view.switch.button(1).isEnabled()
    assert view.switch.button(1).toolTip() == "mlp-tiny has no sequence length to change"
    scenario = Scenario("bert-base", batch=1)
    view.draw((replace(side, scenario=scenario),), 0)
    assert view.switch.button(1).isEnabled() and view.switch.button(1).toolTip() == "Axis: Sequence"


def test_a_cancelled_question_has_no_answer(shown: Any, side: Side) -> None:
    view = shown(Sweep, (side,))
    before = view.canvas.sweep
    question = view.question((side,), 0)
    assert question is not None and question(lambda: True) is None
    view.draw((side,), 0)
    view.answer(None)
    assert view.canvas.sweep is before and view.canvas.stale


def test_the_table_and_the_svg_tell_shift_and_sides(
    shown: Any, side: Side, variant: Side, tmp_path: Path
) -> None:
    view = shown(Sweep, (side, variant), 0)
    shift = Shift("batch", 1, 100, "overhead", 101, "memory")
    view.answer(replace(view.canvas.sweep, shifts=(shift,)))
    rows = view.rows()
    assert {len(row) for row in rows} == {12}
    cells = [row[:2] for row in rows]
    assert ["shift", "overhead-bound up to batch 100, then memory-bound"] in cells
    letters = [row[0] for row in rows[1:-1]]
    assert letters.count("A") == letters.count("B") == view.canvas.first.values.size
    here = next(row for row in rows if row[:2] == ["A", "32"])
    assert here[2] == "435 µs" and here[9] == side.prediction.regime
    text = svg(view, tmp_path / "s.svg")
    ElementTree.fromstring(text)
    assert "memory-bound from 101" in text and "A  Today" in text and "435 µs, " in text


def test_a_side_elsewhere_on_the_same_line_is_a_mark(shown: Any, side: Side) -> None:
    bigger = Scenario("mlp-tiny", batch=128)
    graph = Scenario("mlp-tiny", whatifs=(Applied("cuda_graph", {}),))
    sides = (
        side,
        Side("B", "Bigger", bigger, predict(bigger)),
        Side("C", "Graph", graph, predict(graph)),
    )
    first, other, replayed = shown(Sweep, sides).canvas.sweep.curves
    assert other.same(first) and other.here == 128
    assert not replayed.same(first)


def test_values_that_do_not_fit_are_reported(shown: Any, side: Side) -> None:
    view = shown(Sweep, (side,))
    assert view.canvas.sweep.unfit is None
    curve = view.canvas.first
    fits = (curve.values < 200).astype(float)
    less = replace(curve, columns={**curve.columns, "fits": fits})
    changed = replace(view.canvas.sweep, curves=(less,))
    assert changed.unfit == 224
    clean = picture(view)
    view.answer(changed)
    assert picture(view) != clean
    alone = {name: column[:1] for name, column in curve.columns.items()}
    view.answer(replace(changed, curves=(replace(curve, values=curve.values[:1], columns=alone),)))
    assert not picture(view).isNull()  # one point is a picture too
    view.restyle(LIGHT)
    assert picture(view).pixelColor(300, 32).name().upper() == LIGHT.bg1 != DARK.bg1


def test_measured_points_are_drawn_where_they_were_timed(shown: Any, tmp_path: Path) -> None:
    scenario = Scenario("mlp-tiny", dtype="fp32", batch=1024)
    timed = {step.batch: step.period_s for step in alike(scenario) if step.seq is None}
    assert 1024 in timed
    side = Side("A", "Today", scenario, predict(scenario), str(tmp_path / "gone.json"))
    view = shown(Sweep, (side,))
    first = view.canvas.first
    assert {p.value: p.seconds for p in first.measured} == timed
    assert view.status.text().startswith("× measured")
    view.canvas.show_over(first.row(1024.0))
    card = dict(view.canvas.card().rows)
    predicted = first.columns["period_s"][first.row(1024.0)]
    ratio = number(predicted / timed[1024])
    assert card["Measured"] == f"{seconds(timed[1024])}, predicted/measured {ratio} (never fitted)"
    assert [row for row in view.rows() if row[0] == "measured"]
    low, high = view.canvas.frame.y.low, view.canvas.frame.y.high
    assert low < min(timed.values()) and max(timed.values()) < high


def test_a_profilers_trace_is_a_point_where_the_side_is(shown: Any) -> None:
    path = next(TRACES.glob("*.json.gz"))
    scenario = Scenario("mlp-tiny", dtype="fp16", batch=32)
    side = Side("A", "Today", scenario, predict(scenario), str(path))
    view = shown(Sweep, (side,))
    (point,) = [p for p in view.canvas.first.measured if p.busy]
    assert (point.value, point.source) == (32.0, path.name)
    assert point.seconds == read(path).gpu_busy_s


@pytest.mark.parametrize(
    ("batch", "dtype", "network", "expected"),
    [
        (32, "fp16", "mlp-tiny", [32.0]),
        (64, "fp16", "mlp-tiny", [32.0]),  # the measured step keeps its batch
        (32, "fp32", "mlp-tiny", []),
        (32, "fp16", "mlp-wide", []),
    ],
)
def test_a_trace_stays_at_the_step_that_it_measures(
    batch: int, dtype: str, network: str, expected: list[float]
) -> None:
    path, measured = TRACES / "mlp-tiny.json.gz", Scenario("mlp-tiny", dtype="fp16", batch=32)
    scenario = Scenario(network, dtype=dtype, batch=batch)
    side = Side("A", "Today", scenario, predict(Scenario("mlp-tiny")), str(path), measured)
    assert [p.value for p in points(side, "batch", batch) if p.busy] == expected
    assert (difference(side) == "") == (scenario == measured)
