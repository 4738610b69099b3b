"""The regime map: its points, axes, shifts, background and table."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from app.answers.side import Side
from app.answers.sweeps.axes import AxisValues
from app.scenes.regime_map import axes
from app.scenes.regime_map.axes import elsewhere, offered, place_on, usual, values
from app.scenes.regime_map.scene import Chart, ExactShifts, crossings
from app.scenes.sweep.curves import Curve
from app.time_left import RUNNING, Running
from app.views.regime_map.view import RegimeMap
from simulator.analysis.regimes import next_shift
from simulator.scenario.scenario import Scenario, predict
from simulator.simulate.step_columns import COLUMNS
from tests.app.views.conftest import picture, svg

WIDE = (1000, 600)


def settled(view: Any, side: Side) -> list[str]:
    """Answer the view's questions until it has none; returns all answers."""
    answers: list[str] = []
    for _ in range(9):
        question = view.question((side,), 0)
        if question is None:
            return answers
        mapped = question(lambda: False)
        answers.append(type(mapped).__name__)
        view.answer(mapped)
    raise AssertionError("it never ends")


def test_few_points_first_then_more_then_exact_shifts(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    assert view.names == ("batch", "host_speed")  # mlp-tiny has no sequence
    assert view.chart.x.values == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert view.chart.y.values == (0.125, 0.25, 0.5, 1, 2, 4, 8)
    assert view.subtitle() == "Batch by host speed, 63 points predicted"
    assert view.status.text() == "refining …"
    emitted: list[int] = []
    view.question_changed.connect(lambda: emitted.append(1))
    assert settled(view, side) == ["Chart", "ExactShifts"] and len(emitted) == 2
    assert (
        view.chart.done
        and len(view.chart.x.values) > 20
        and view.status.text() == "colour: the largest share"
    )
    # doublings remain among the points
    assert {1, 2, 4, 8, 16, 32, 64, 128, 256} <= set(view.chart.x.values)
    assert (view.chart.x.values[0], view.chart.x.values[-1]) == (1, 256)


def test_the_map_stays_while_the_scenario_moves_on_it(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    settled(view, side)
    before = view.chart
    there = Scenario("mlp-tiny", batch=64)
    moved = replace(side, scenario=there, prediction=predict(there))
    view.draw((moved,), 0)
    assert settled(view, moved) == ["ExactShifts"] and view.chart is before
    assert before.x.values[view.map.spot[0]] == there.batch
    between = Scenario("mlp-tiny", batch=74)
    assert 74 not in before.x.values
    off = replace(side, scenario=between, prediction=predict(between))
    view.draw((off,), 0)
    assert view.map.stale
    assert settled(view, off) == ["Chart", "ExactShifts"]
    assert 74 in view.chart.x.values and view.chart.x.values[-1] == 256  # the ends of the axis stay
    late = before
    graph = Scenario("mlp-tiny", mode="cuda_graph")
    other = replace(side, scenario=graph, prediction=predict(graph))
    view.draw((other,), 0)
    view.answer(late)
    assert view.chart is not late  # the late answer belongs to another scenario


def test_shifts_are_found_to_the_whole_number(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    view.names = ("batch", "bandwidth")
    busy = Scenario("mlp-tiny", batch=16384, mode="cuda_graph")
    view.draw((there := replace(side, scenario=busy, prediction=predict(busy)),), 0)
    settled(view, there)
    shifts = view.through.slices[0].sweep.shifts
    assert shifts and isinstance(view.exact, ExactShifts)
    own = next_shift(busy, "batch", start=1, limit=shifts[0].first)
    assert (shifts[0].first, shifts[0].after) == (own.first, own.after)


def test_a_crossing_lies_where_two_shares_are_equal(side: Side) -> None:
    line = AxisValues("batch", (4, 16), "samples", True, True)
    columns = {name: np.ones(2) for name in COLUMNS}
    columns |= {
        "overhead": np.array([0.6, 0.2]),
        "compute": np.array([0.4, 0.8]),
        "memory": np.zeros(2),
        "regime": np.array([2.0, 0.0]),
    }
    (shift,) = crossings(line, Curve(side, 4.0, np.array([4.0, 16.0]), columns))
    # the lead falls from 0.2 to −0.6: it is 0 a quarter of the way from 4 to 16, at 4·4^0.25 =
    # 5.66, so from 6 on
    assert (shift.before, shift.last, shift.after, shift.first) == ("overhead", 4.0, "compute", 6.0)


def test_axes_are_offered_chosen_and_swapped(shown: Any, side: Side) -> None:
    names = offered(side)
    assert names[0] == "batch" and "seq" not in names and names[-3:] == ["gpu", "mode", "precision"]
    assert {"bandwidth", "tensor_peak", "host_speed", "memory"} <= set(names)
    assert usual(["batch", "seq", "gpu"]) == ("batch", "seq")
    assert usual(["bandwidth", "host_speed"]) == ("host_speed", "bandwidth")  # a saved trace
    view = shown(RegimeMap, (side,), size=WIDE)
    emitted: list[Any] = []
    view.question_changed.connect(lambda: emitted.append(view.names))
    view.up.setCurrentIndex(names.index("batch"))
    assert emitted == [("host_speed", "batch")] and view.chart is None and view.rows() == []
    view.across.setCurrentIndex(names.index("bandwidth"))
    assert view.names == ("bandwidth", "batch")
    assert not picture(view).isNull()


def test_the_place_of_a_side_and_the_subject_of_a_map(side: Side) -> None:
    names = ("batch", "gpu", "mode", "bandwidth", "precision")
    places = [place_on(side, name) for name in names]
    assert places == [32, "h200_sxm", "eager", 1, "fp32"]
    one, other = Scenario("mlp-tiny", batch=4), Scenario("mlp-tiny", batch=8)
    assert elsewhere(one, "batch") == elsewhere(other, "batch") != elsewhere(one, "bandwidth")
    line = values(side, "batch", 0, (1, 64))
    assert line.values == (1, 2, 4, 8, 16, 32, 64)
    assert values(side, "batch", 0, (64, 256)).values[0] == 1  # the side's batch 32 is outside


def test_table_and_svg(shown: Any, side: Side, tmp_path: Path) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    rows = view.rows()
    assert {len(row) for row in rows} == {10} and len(rows) == 1 + 63 + 3
    here = next(row for row in rows if row[:2] == ["32", "1"])
    assert here[2] == "435 µs" and here[7] == side.prediction.regime and here[9] == "yes"
    text = svg(view, tmp_path / "m.svg")
    ElementTree.fromstring(text)
    assert "Batch 32, host speed 1" in text and "Overhead-bound" in text


def test_no_map_says_why(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    line = view.chart.x
    view.answer(replace(view.chart, field=None, refused="no point has an answer", done=True))
    assert view.map.accessibleDescription() == "no point has an answer"
    assert isinstance(view.chart, Chart) and view.chart.x is line and view.rows() == []
    assert settled(view, side) == [] and not picture(view).isNull()
    assert view.question((side,), 0) is None


def test_a_cancelled_map_has_no_answer(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    before = view.chart
    assert view.question((side,), 0)(lambda: True) is None
    view.answer(None)
    assert view.chart is before


def test_a_map_that_is_cancelled_while_it_is_refined_says_so(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    assert view.chart is not None and not view.chart.done
    assert view.status.text() == "refining …"
    view.show_cancelled("cancelled")
    assert view.status.text() == "not refined" and view.map.chart is not None
    view.answer(view.question((side,), 0)(lambda: False))
    assert view.status.text() != "not refined"


def test_the_lines_of_a_compiled_map_are_shown_as_they_come(
    shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # each point is fused: 9 batches by 3, then by 7 speeds of the host
    monkeypatch.setattr(axes, "_POINTS", {"batch": (None, None)})
    monkeypatch.setattr(axes, "_SCALE", (3, 7))
    scenario = Scenario("mlp-tiny", mode="compiled")  # batch 32
    side = Side("A", "A", scenario, predict(scenario))
    view, seen = shown(RegimeMap, (side,), size=WIDE), list[Chart]()
    assert view.chart is not None and view.chart.level == 0  # `shown` answers the first question
    report = Running()
    report.show = lambda part: (view.show_part(part), seen.append(view.chart))
    token = RUNNING.set(report)
    question = view.question((side,), 0)
    assert question is not None
    fine = question(lambda: False)
    RUNNING.reset(token)
    assert seen and all(part.level == 0 and not part.done for part in seen)
    lines = [len(part.y.values) for part in seen]
    assert lines == sorted(set(lines)) and lines[-1] < len(fine.y.values) == 7
    for part in seen:  # each part is a map over the whole axes, with the scenario's point
        assert part.y.values[0] == fine.y.values[0] and part.y.values[-1] == fine.y.values[-1]
        assert part.spot(32, 1) is not None
    assert view.map.home == seen[-1].spot(32, 1)
    assert view.subtitle().endswith(f"{seen[-1].field.mapped.map.period_s.size} points predicted")
