"""The regime map's cursor, the sweeps and choices next to it, and goal seek."""

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.quantities import data, number
from app.theme import Theme
from app.views.regime_map.cursor import verdict_words
from app.views.regime_map.view import RegimeMap
from simulator.modes import MODES
from simulator.scenario.scenario import Applied, Scenario, predict
from tests.app.views.conftest import picture, pointer
from tests.app.views.regime_map.test_regime_map_view import WIDE, settled


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
    description = view.map.accessibleDescription()
    assert description.startswith("Batch 32, host speed 1: 435 µs, 280 to 580, overhead-bound; ")
    overhead = f"{100 * p.shares['overhead']:.0f}"
    assert overhead == "100" and "1.0% for host and launch speed" in view.status.toolTip()


def test_arrows_move_the_cursor_and_enter_predicts(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    QTest.keyClick(view.map, Qt.Key.Key_Return)
    assert emitted == []  # the scenario is already at the cursor
    QTest.keyClick(view.map, Qt.Key.Key_Right)
    QTest.keyClick(view.map, Qt.Key.Key_Up)
    assert view.through.slices[1].head == ("Along host speed", "at batch 64")
    assert view.through.slices[0].first.here == 64 and view.map.home == (5, 3)
    QTest.keyClick(view.map, Qt.Key.Key_Escape)
    assert view.map.spot == (5, 3)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Return):
        QTest.keyClick(view.map, key)
    faster = Applied("host_speed", {"times": 4.0})
    assert emitted == [Scenario("mlp-tiny", batch=64, whatifs=(faster,))]
    for _ in range(9):
        QTest.keyClick(view.map, Qt.Key.Key_Left)
    assert view.map.spot[0] == 0


def test_a_drag_is_one_request_at_its_end(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    kinds = QEvent.Type
    pointer(view.map, kinds.MouseButtonPress, view.map.pixel((5, 3)))
    for column in (4, 3, 2):
        pointer(view.map, kinds.MouseMove, view.map.pixel((column, 3)) + QPointF(2, 1))
    assert view.map.spot == (2, 3) and emitted == []
    assert view.through.slices[0].first.here == 4  # the sweeps follow the cursor
    pointer(view.map, kinds.MouseButtonRelease, view.map.pixel((2, 3)))
    assert emitted == [Scenario("mlp-tiny", batch=4)]
    pointer(view.map, kinds.MouseButtonPress, QPointF(2, 2))
    pointer(view.map, kinds.MouseButtonRelease, QPointF(2, 2))
    assert len(emitted) == 1  # a click next to the map
    pointer(view.map, kinds.MouseMove, view.map.pixel((7, 3)))
    card = view.map.card()
    assert card is not None and card.head == "Batch 128, host speed 1"
    time = f"{1e6 * predict(Scenario('mlp-tiny', batch=128)).period_s:.0f} µs, "
    assert card.rows[0][0] == "Time, 80%" and card.rows[0][1].startswith(time)


def test_a_click_in_a_sweep_is_a_request_too(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    canvas = view.through.slices[0]
    at = QPointF(canvas.frame.x.at(8), canvas.frame.top.centre[1])
    pointer(canvas, QEvent.Type.MouseButtonPress, at)
    assert emitted == [Scenario("mlp-tiny", batch=8)]


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
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    QTest.keyClick(view.map, Qt.Key.Key_Up)
    QTest.keyClick(view.map, Qt.Key.Key_Return)
    assert emitted == [Scenario("mlp-tiny", mode="cuda_graph")]
    box = next(box for choice, box in bars.shown() if choice.name == "compiled")
    pointer(bars, QEvent.Type.MouseButtonPress, box.center())
    assert emitted[1:] == [Scenario("mlp-tiny", mode="compiled")]
    assert not picture(view).isNull()


def test_goals_are_sought_on_request_and_can_be_applied(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    settled(view, side)
    seek = view.seek
    # twice 435 µs is 0.8 ms; the next round time is 1 ms
    assert seek.text == "1 ms" and not seek.buttons[0].isEnabled()
    seek.latency.setText("soon")
    seek.button.click()
    assert settled(view, side) == ["GoalResults"]
    assert seek.values[2].text() == "none" and seek.values[2].toolTip() == (
        "'soon': expected a time above 0, such as 20ms or 0.5s"
    )
    out = int(seek.values[1].text().replace(",", ""))
    assert predict(Scenario("mlp-tiny", batch=out)).regime != "overhead"
    assert predict(Scenario("mlp-tiny", batch=out - 1)).regime == "overhead"
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    seek.buttons[1].click()
    assert predict(emitted[0]).trace.samples == out
    other = replace(side, scenario=Scenario("mlp-tiny", batch=64))
    view.draw((other,), 0)
    assert seek.values[1].text() == "–" and not seek.buttons[1].isEnabled()


def test_away_from_the_scenario_the_cursor_says_the_verdict(shown: Any, side: Side) -> None:
    view = shown(RegimeMap, (side,), size=(1000, 640))
    chart, home = view.chart, view.map.home
    assert home is not None
    spot = (home[0], len(chart.y.values) - 1 if home[1] == 0 else 0)
    there, now = chart.figures(spot), chart.figures(home)
    rate, held = verdict_words(chart, spot, home)
    times = there["samples_per_s"] / now["samples_per_s"]
    assert rate.endswith(f", {number(times, 2)}× current")
    assert held.endswith("fits") and held.startswith(data(there["memory_bytes"]))
    before = picture(view)
    view.map.move_to(spot)
    assert picture(view) != before


def test_the_ring_of_the_cursor_is_whole_at_the_edge(shown: Any, side: Side, theme: Theme) -> None:
    view = shown(RegimeMap, (side,), theme=theme, size=WIDE)
    for _ in range(20):
        QTest.keyClick(view.map, Qt.Key.Key_Up)
    at, area = view.map.pixel(view.map.spot), view.map.frame.plot
    assert at.y() == pytest.approx(area.top)
    top = view.map.mapTo(view, QPoint(round(at.x()), round(at.y()) - 10))
    assert picture(view).pixelColor(top).name().upper() == theme.b


def test_the_card_of_a_point_does_not_call_a_small_share_none(
    shown: Any, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = shown(RegimeMap, (side,), size=WIDE)
    figures = {**view.chart.figures((0, 0)), "compute": 0.003, "memory": 0.0, "overhead": 0.997}
    monkeypatch.setattr(type(view.chart), "figures", lambda *_: figures)
    view.map.over = (0, 0)
    rows = dict(view.map.card().rows)
    assert rows["Shares"] == "<1% compute, 0% memory, 100% overhead"
