from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, QSize, Qt
from PySide6.QtTest import QTest

from app.answers.axes import Line
from app.answers.side import Side
from app.quantities import data, number
from app.scenes.regime_map import Chart, Exact, crossings
from app.scenes.regime_map_axes import elsewhere, offered, place_on, usual, values
from app.scenes.sweep_curves import Curve
from app.theme import DARK, LIGHT, Theme
from app.views.regime_map.cursor import verdict_words
from app.views.regime_map.ground import ground
from app.views.regime_map.view import RegimeMap
from simulator.analysis.regimes import next_shift
from simulator.modes import MODES
from simulator.scenario.scenario import Applied, Scenario, predict
from simulator.simulate.traces import COLUMNS
from tests.app.views.conftest import picture, pointer, svg

WIDE = (1000, 600)


def settled(view: Any, side: Side) -> list[str]:
    """Ask and answer until nothing is question_changed; what came."""
    came: list[str] = []
    for _ in range(9):
        question = view.question((side,), 0)
        if question is None:
            return came
        found = question(lambda: False)
        came.append(type(found).__name__)
        view.answer(found)
    raise AssertionError("it never ends")


def test_few_points_first_then_more_then_exact_shifts(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    assert view.names == ("batch", "host_speed")  # mlp-tiny has no sequence
    assert view.chart.x.values == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert view.chart.y.values == (0.125, 0.25, 0.5, 1, 2, 4, 8)
    assert view.subtitle() == "Batch by host speed, 63 points predicted"
    assert view.said.text() == "more points on their way"
    told: list[int] = []
    view.question_changed.connect(lambda: told.append(1))
    assert settled(view, side) == ["Chart", "Exact"] and len(told) == 2
    assert (
        view.chart.done
        and len(view.chart.x.values) > 20
        and view.said.text() == "colour: the largest share"
    )
    assert {1, 2, 4, 8, 16, 32, 64, 128, 256} <= set(view.chart.x.values)  # doublings stay
    assert (view.chart.x.values[0], view.chart.x.values[-1]) == (1, 256)


def test_the_cursor_is_where_the_scenario_is_with_its_figures(
    shown: Any, side: Side, theme: Theme
) -> None:
    view = shown(RegimeMap, (side,), theme=theme, size=WIDE)
    at, p = view.chart.figures(view.map.spot), side.prediction
    assert (view.chart.x.values[view.map.spot[0]], view.chart.y.values[view.map.spot[1]]) == (32, 1)
    assert at["period_s"] == pytest.approx(p.period_s, rel=1e-12)
    assert (at["low_s"], at["high_s"]) == pytest.approx(p.interval_s)
    assert {r: at[r] for r in p.shares} == pytest.approx(p.shares)
    assert picture(view).pixelColor(4, 60).name().upper() == theme.bg1
    along, up = (canvas.first for canvas in view.through.slices)
    assert (along.here, up.here) == (32, 1)
    assert along.columns["period_s"][along.row(32)] == up.columns["period_s"][up.row(1)]
    assert view.through.slices[0].head == ("Along batch", "at host speed 1")
    said = view.map.accessibleDescription()
    assert said.startswith("Batch 32, host speed 1: 273 µs, 220 to 430, overhead-bound; ")
    overhead = f"{100 * p.shares['overhead']:.0f}"
    assert overhead == "100" and "of the host and launches 1.0%" in view.said.toolTip()


def test_arrows_move_the_cursor_and_enter_asks(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    told: list[Scenario] = []
    view.asked.connect(told.append)
    QTest.keyClick(view.map, Qt.Key.Key_Return)
    assert told == []  # it is there
    QTest.keyClick(view.map, Qt.Key.Key_Right)
    QTest.keyClick(view.map, Qt.Key.Key_Up)
    assert view.through.slices[1].head == ("Along host speed", "at batch 64")
    assert view.through.slices[0].first.here == 64 and view.map.home == (5, 3)
    QTest.keyClick(view.map, Qt.Key.Key_Escape)
    assert view.map.spot == (5, 3)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Return):
        QTest.keyClick(view.map, key)
    faster = Applied("host_speed", {"times": 4.0})
    assert told == [Scenario("mlp-tiny", batch=64, whatifs=(faster,))]
    for _ in range(9):
        QTest.keyClick(view.map, Qt.Key.Key_Left)
    assert view.map.spot[0] == 0


def test_a_drag_asks_once_where_it_ends(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    told: list[Scenario] = []
    view.asked.connect(told.append)
    kinds = QEvent.Type
    pointer(view.map, kinds.MouseButtonPress, view.map.pixel((5, 3)))
    for column in (4, 3, 2):
        pointer(view.map, kinds.MouseMove, view.map.pixel((column, 3)) + QPointF(2, 1))
    assert view.map.spot == (2, 3) and told == []
    assert view.through.slices[0].first.here == 4  # the sweeps follow
    pointer(view.map, kinds.MouseButtonRelease, view.map.pixel((2, 3)))
    assert told == [Scenario("mlp-tiny", batch=4)]
    pointer(view.map, kinds.MouseButtonPress, QPointF(2, 2))
    pointer(view.map, kinds.MouseButtonRelease, QPointF(2, 2))
    assert len(told) == 1  # beside the map
    pointer(view.map, kinds.MouseMove, view.map.pixel((7, 3)))
    card = view.map.card()
    assert card is not None and card.head == "Batch 128, host speed 1"
    time = f"{1e6 * predict(Scenario('mlp-tiny', batch=128)).period_s:.0f} µs, "
    assert card.rows[0][0] == "Time, 80%" and card.rows[0][1].startswith(time)


def test_a_click_in_a_sweep_asks_too(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    told: list[Scenario] = []
    view.asked.connect(told.append)
    canvas = view.through.slices[0]
    at = QPointF(canvas.along.at(8), canvas.halves[0].center().y())
    pointer(canvas, QEvent.Type.MouseButtonPress, at)
    assert told == [Scenario("mlp-tiny", batch=8)]


def test_the_map_stays_while_the_scenario_moves_on_it(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    settled(view, side)
    before = view.chart
    there = Scenario("mlp-tiny", batch=64)
    moved = replace(side, scenario=there, prediction=predict(there))
    view.draw((moved,), 0)
    assert settled(view, moved) == ["Exact"] and view.chart is before
    assert before.x.values[view.map.spot[0]] == there.batch
    between = Scenario("mlp-tiny", batch=74)
    assert 74 not in before.x.values
    off = replace(side, scenario=between, prediction=predict(between))
    view.draw((off,), 0)
    assert view.map.stale
    assert settled(view, off) == ["Chart", "Exact"]
    assert 74 in view.chart.x.values and view.chart.x.values[-1] == 256  # the ends stay
    late = before
    graph = Scenario("mlp-tiny", mode="cuda_graph")
    other = replace(side, scenario=graph, prediction=predict(graph))
    view.draw((other,), 0)
    view.answer(late)
    assert view.chart is not late  # of another scenario


def test_shifts_are_found_to_the_whole_number(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    view.names = ("batch", "bandwidth")
    busy = Scenario("mlp-tiny", batch=16384, mode="cuda_graph")
    view.draw((there := replace(side, scenario=busy, prediction=predict(busy)),), 0)
    settled(view, there)
    shifts = view.through.slices[0].found.shifts
    assert shifts and isinstance(view.exact, Exact)
    own = next_shift(busy, "batch", start=1, limit=shifts[0].first)
    assert (shifts[0].first, shifts[0].after) == (own.first, own.after)


def test_a_crossing_lies_where_two_shares_are_equal(side: Side) -> None:
    line = Line("batch", (4, 16), "samples", True, True)
    columns = {name: np.ones(2) for name in COLUMNS}
    columns |= {
        "overhead": np.array([0.6, 0.2]),
        "compute": np.array([0.4, 0.8]),
        "memory": np.zeros(2),
        "regime": np.array([2.0, 0.0]),
    }
    (shift,) = crossings(line, Curve(side, 4.0, np.array([4.0, 16.0]), columns))
    # 0.2 and −0.6: a quarter of the way from 4 to 16, 4·4^0.25 = 5.66, so from 6 on
    assert (shift.before, shift.last, shift.after, shift.first) == ("overhead", 4.0, "compute", 6.0)


def test_axes_are_offered_chosen_and_swapped(shown: Any, side: Side) -> None:
    names = offered(side)
    assert names[0] == "batch" and "seq" not in names and names[-3:] == ["gpu", "mode", "precision"]
    assert {"bandwidth", "tensor_peak", "host_speed", "memory"} <= set(names)
    assert usual(["batch", "seq", "gpu"]) == ("batch", "seq")
    assert usual(["bandwidth", "host_speed"]) == ("host_speed", "bandwidth")  # a saved trace
    view = shown(RegimeMap, (side,), size=WIDE)
    told: list[Any] = []
    view.question_changed.connect(lambda: told.append(view.names))
    view.up.setCurrentIndex(names.index("batch"))
    assert told == [("host_speed", "batch")] and view.chart is None and view.rows() == []
    view.across.setCurrentIndex(names.index("bandwidth"))
    assert view.names == ("bandwidth", "batch")
    assert not picture(view).isNull()


def test_choices_have_cells_and_no_lines(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    view.names = ("batch", "mode")
    view.draw((side,), 0)
    view.answer(view.question((side,), 0)(lambda: False))
    chart = view.chart
    assert chart.y.values == MODES and chart.times == ()
    assert view.map.spot == (5, 0)
    bars = view.through.bars[1]
    assert (
        bars.isVisible()
        and not view.through.slices[1].isVisible()
        and not view.through.bars[0].isVisible()
    )
    times = [choice.figures["period_s"] for choice in bars.items]
    assert times == sorted(times) and {c.name for c in bars.items} == set(chart.y.values)
    assert (bars.title, bars.about) == ("Along mode", "at batch 32") and bars.here == 0
    told: list[Scenario] = []
    view.asked.connect(told.append)
    QTest.keyClick(view.map, Qt.Key.Key_Up)
    QTest.keyClick(view.map, Qt.Key.Key_Return)
    assert told == [Scenario("mlp-tiny", mode="cuda_graph")]
    box = next(box for choice, box in bars.shown() if choice.name == "compiled")
    pointer(bars, QEvent.Type.MouseButtonPress, box.center())
    assert told[1:] == [Scenario("mlp-tiny", mode="compiled")]
    assert not picture(view).isNull()


def test_where_a_side_is_and_what_a_map_is_of(side: Side) -> None:
    names = ("batch", "gpu", "mode", "bandwidth", "precision")
    places = [place_on(side, name) for name in names]
    assert places == [32, "h200_sxm", "eager", 1, "fp32"]
    one, other = Scenario("mlp-tiny", batch=4), Scenario("mlp-tiny", batch=8)
    assert elsewhere(one, "batch") == elsewhere(other, "batch") != elsewhere(one, "bandwidth")
    line = values(side, "batch", 0, (1, 64))
    assert line.values == (1, 2, 4, 8, 16, 32, 64)
    assert values(side, "batch", 0, (64, 256)).values[0] == 1  # it has left those ends


def test_what_does_not_fit_is_hatched(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    field, size = view.chart.field, QSize(200, 160)
    half = np.zeros_like(field.over)
    half[:, 200:] = True
    clean, hatched = (
        ground(field, DARK, size, 1.0),
        ground(replace(field, over=half), DARK, size, 1),
    )
    assert clean.pixelColor(20, 80) == hatched.pixelColor(20, 80)
    assert any(hatched.pixelColor(x, 80).name().upper() == DARK.bg0 for x in range(120, 180))
    view.restyle(LIGHT)
    assert picture(view).pixelColor(4, 60).name().upper() == LIGHT.bg1


def test_goals_are_sought_when_asked_and_go_there(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    settled(view, side)
    seek = view.seek
    assert seek.text == "1 ms" and not seek.buttons[0].isEnabled()  # 273 µs a step: twice is 0.5
    seek.latency.setText("soon")
    seek.button.click()
    assert settled(view, side) == ["Found"]
    assert seek.values[2].text() == "none" and seek.values[2].toolTip() == (
        "'soon': expected a time above 0, such as 20ms or 0.5s"
    )
    out = int(seek.values[1].text().replace(",", ""))
    assert predict(Scenario("mlp-tiny", batch=out)).regime != "overhead"
    assert predict(Scenario("mlp-tiny", batch=out - 1)).regime == "overhead"
    told: list[Scenario] = []
    view.asked.connect(told.append)
    seek.buttons[1].click()
    assert predict(told[0]).trace.samples == out
    other = replace(side, scenario=Scenario("mlp-tiny", batch=64))
    view.draw((other,), 0)
    assert seek.values[1].text() == "–" and not seek.buttons[1].isEnabled()


def test_table_and_svg(shown: Any, side: Side, tmp_path: Path) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    rows = view.rows()
    assert {len(row) for row in rows} == {10} and len(rows) == 1 + 63 + 3
    here = next(row for row in rows if row[:2] == ["32", "1"])
    assert here[2] == "273 µs" and here[7] == side.prediction.regime and here[9] == "yes"
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


def test_away_from_the_scenario_the_cursor_says_the_verdict(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=(1000, 640))
    chart, home = view.chart, view.map.home
    assert home is not None
    spot = (home[0], len(chart.y.values) - 1 if home[1] == 0 else 0)
    there, now = chart.figures(spot), chart.figures(home)
    rate, held = verdict_words(chart, spot, home)
    times = there["samples_per_s"] / now["samples_per_s"]
    assert rate.endswith(f", {number(times, 2)}× now")
    assert held.endswith("fits") and held.startswith(data(there["memory_bytes"]))
    before = picture(view)
    view.map.move_to(spot)
    assert picture(view) != before
