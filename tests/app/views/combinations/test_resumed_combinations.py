"""Combinations that were cancelled continue with the missing ones, and never with stale figures."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.answers.side import Side
from app.answers.sweeps import combinations
from app.scenes.combinations import table as scene
from app.scenes.combinations.table import CombinationTable, combined
from app.scenes.regime_map.axes import place_on
from app.scenes.regime_map.scene import charted
from app.scenes.sweep.curves import CancelledError
from app.time_left import RUNNING, Running
from app.views.combinations.view import Combinations
from simulator.analysis.sweep import sweep
from simulator.hardware.gpu import PACKAGED
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply

NAMES = ["batch", "gpu", "mode", "host_speed", "bandwidth"]
"""9 · 6 · 2 · 4 · 4 = 1,728 combinations, of which each GPU has 288."""


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch):
    """The number of rows of each sweep; no combination is cached, and every part is shown."""
    counts: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        counts.append(len(result := sweep(*args, **kwargs)))
        return result

    monkeypatch.setattr(combinations, "sweep", counted)
    monkeypatch.setattr(scene, "_PART_S", 0.0)
    scene._BLOCKS.clear()  # pyright: ignore[reportPrivateUsage]
    return counts


def run(side: Side, names: list[str], parts: int | None = None) -> tuple[list[Any], Any]:
    """Run the question and cancel it after a number of tables. Returns the tables shown, and the
    result."""
    shown: list[Any] = []
    token = RUNNING.set(Running(show=shown.append))
    try:
        return shown, combined(side, names, lambda: len(shown) == parts)
    except CancelledError:
        return shown, None
    finally:
        RUNNING.reset(token)


def test_a_cancelled_question_continues_where_it_ended(side: Side, rows: list[int]) -> None:
    shown, result = run(side, NAMES, parts=2)
    assert result is None and rows == [288, 288]
    assert [(len(t), t.missing) for t in shown] == [(288, 1440), (576, 1152)]
    shown, result = run(side, NAMES)
    assert rows == [288] * 6  # four of the six GPUs were missing
    assert [len(t) for t in shown] == [576, 864, 1152, 1440] and len(result) == 1728
    run(side, NAMES)
    moved = replace(side, scenario=replace(side.scenario, mode="cuda_graph"))  # on an axis
    assert len(run(moved, NAMES)[1]) == 1728 and len(rows) == 6
    run(side, ["batch", "mode"])
    assert rows[6:] == [18]


def test_another_network_or_gpu_file_is_not_answered_from_earlier_combinations(
    side: Side, rows: list[int], tmp_path: Path
) -> None:
    card = tmp_path / "own.toml"

    def side_of(text: str) -> Side:
        card.write_text(text)
        scenario = replace(side.scenario, gpu=str(card))
        return Side("A", "Own", scenario, predict(scenario))

    text = (PACKAGED / "v100_sxm2_16.toml").read_text()
    first = run(side_of(text), ["batch", "mode"])[1]
    slower = text.replace("boost_mhz = 1530", "boost_mhz = 153")
    assert slower != text
    second = run(side_of(slower), ["batch", "mode"])[1]
    assert rows == [18, 18]
    times = [{c.name: c.values for c in t.columns}["GPU time"] for t in (first, second)]
    assert (times[1] > times[0]).all()
    run(replace(side, scenario=replace(side.scenario, dtype="fp16")), ["batch", "mode"])
    assert rows == [18, 18, 18]


def test_factors_of_the_scenario_are_replaced_by_those_of_an_axis() -> None:
    base = Scenario("mlp-tiny", batch=4096, host="xeon-h200")
    scenario = apply(base, "bandwidth", {"times": 2.0})
    side = Side("A", "Fast memory", scenario, predict(scenario))
    table = combined(side, ["bandwidth"], lambda: False)
    (times,) = (c.values for c in table.columns if c.name == "GPU time")
    assert [s[0] for s in table.settings] == [0.5, 1.0, 2.0, 4.0]
    for row, time in enumerate(times):
        assert predict(table.scenario(scenario, row)).gpu_busy_s == pytest.approx(time, rel=1e-12)
    assert times[1] == pytest.approx(predict(base).gpu_busy_s, rel=1e-12)
    chart = charted(side, ("batch", "bandwidth"), 0, lambda: False, {})
    spot = chart.spot(4096, place_on(side, "bandwidth"))
    assert spot is not None
    busy_s = chart.figures(spot)["gpu_busy_s"]
    assert busy_s == pytest.approx(side.prediction.gpu_busy_s, rel=1e-12)


@pytest.fixture
def view(shown: Callable[..., Any], side: Side) -> Combinations:
    return shown(Combinations, (side,), size=(1000, 500))


def part_of(table: CombinationTable, rows: int) -> CombinationTable:
    """The first rows of a table."""
    columns = tuple(replace(c, values=c.values[:rows]) for c in table.columns)
    missing = len(table) - rows
    return CombinationTable(
        columns, table.axes, table.settings[:rows], table.regimes[:rows], 0, missing
    )


def test_a_cancelled_view_keeps_its_lines_and_offers_the_rest(
    view: Combinations, side: Side
) -> None:
    whole = view.table
    assert whole is not None and len(whole) == 432 and view.more.isHidden()
    view.draw((side,), 0)
    view.show_part(part_of(whole, 100))
    assert view.canvas.stale and view.more.isHidden()
    assert view.best.text() == "Highest rate" and not view.best.isEnabled()
    assert view.best.toolTip() == (
        "Switch to the matching scenario with the most samples/s, once the other 332 are predicted"
    )
    assert view.subtitle() == "100 of 432 scenarios, one line each"
    view.show_cancelled("cancelled")
    assert not view.canvas.stale and not view.canvas.failure and not view.more.isHidden()
    assert view.status.text().startswith("100 of 100 match, 332 to predict")
    assert view.table is not None and np.array_equal(view.table.regimes, whole.regimes[:100])
    questions: list[bool] = []
    view.question_changed.connect(lambda: questions.append(True))
    view.more.click()
    assert questions == [True] and view.canvas.stale and view.more.isHidden()
    view.answer(whole)
    assert view.best.isEnabled() and view.best.toolTip() == (
        "Switch to the matching scenario with the most samples/s (Enter)"
    )
    view.show_part(part_of(whole, 200))
    view.answer(whole)
    assert not view.canvas.stale and view.more.isHidden()
    assert view.status.text().startswith("432 of 432 match")


def test_lines_of_an_earlier_question_do_not_stay_after_cancel(
    view: Combinations, side: Side
) -> None:
    whole = view.table
    assert whole is not None
    view.draw((side,), 0)
    view.show_cancelled("cancelled")  # before any part of the new question
    assert view.canvas.failure == "No combinations.\ncancelled" and view.table is None
    view.show_part(part_of(whole, 100))
    view.show_cancelled("cancelled")
    view.axes.axes["bandwidth"].trigger()  # another question
    view.show_cancelled("cancelled")
    assert view.canvas.failure and view.more.isHidden()
