"""A sweep in parts equals a single sweep, and shows each part when it is ready."""

from dataclasses import replace

import numpy as np
import pytest

from app.answers.sweeps.axes import AxisValues
from app.answers.sweeps.in_parts import from_outside, in_parts, is_slow
from app.answers.sweeps.regime_map import Mapped, mapped_over
from app.time_left import RUNNING, Running
from simulator.analysis.sweep import Sweep, sweep
from simulator.scenario.scenario import Scenario

SMALL = {"layers": 2, "width": 256, "heads": 4}
COMPILED = Scenario("gpt2", mode="compiled", batch=2, seq=32, dtype="bf16", sizes=SMALL)
AXES = {"seq": (32, 64, 96), "batch": (1, 2)}


@pytest.fixture
def report():
    report = Running()
    token = RUNNING.set(report)
    yield report
    RUNNING.reset(token)


def nothing() -> None:
    """Never cancels."""


def test_compiled_steps_are_slow_and_eager_ones_of_a_family_are_not():
    assert is_slow(COMPILED, AXES)
    assert is_slow(
        replace(COMPILED, mode="eager"), {"batch": (1, 2), "mode": ("eager", "compiled")}
    )
    eager = Scenario("bert-base", batch=64, seq=128, dtype="bf16")
    assert not is_slow(eager, {"batch": (1, 2, 4, 8, 16, 32, 64)})


def test_a_sweep_in_parts_equals_a_single_sweep(report: Running):
    shown: list[tuple[tuple[int, ...], int, str]] = []

    def so_far(part: Sweep, at: tuple[int, ...]) -> None:
        shown.append((at, len(part), report.text))

    parts = in_parts(COMPILED, AXES, [1, 0, 2], nothing, so_far)
    whole = sweep(COMPILED, AXES)
    assert list(parts.points) == list(whole.points)
    assert list(parts.scenarios) == list(whole.scenarios)
    assert parts.refused == whole.refused == {}
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(parts.columns[name], column)
    assert shown == [((1,), 2, "2 of 6 points"), ((0, 1), 4, "4 of 6 points")]
    assert report.text == "6 of 6 points"


def test_refused_rows_keep_their_places():
    axes = {"seq": (32, 4096), "batch": (1, 2)}  # gpt2 has 1,024 positions
    parts = in_parts(COMPILED, axes, [0, 1], nothing, lambda part, at: None)
    whole = sweep(COMPILED, axes)
    assert set(parts.refused) == {2, 3}
    assert parts.refused == whole.refused


def test_known_parts_are_not_predicted_again(report: Running):
    known: dict[object, Sweep] = {}
    stopped = False

    def stop() -> None:
        if stopped:
            raise InterruptedError

    def so_far(part: Sweep, at: tuple[int, ...]) -> None:
        nonlocal stopped
        stopped = True

    with pytest.raises(InterruptedError):
        in_parts(COMPILED, AXES, [2, 0, 1], stop, so_far, known=known)  # pyright: ignore
    assert list(known) == [96]
    counts: list[str] = []
    in_parts(
        COMPILED,
        AXES,
        [2, 0, 1],
        nothing,
        lambda part, at: counts.append(report.text),
        known=known,  # pyright: ignore
    )
    assert counts == ["4 of 6 points"]  # the first line had only the points that were known


def test_lines_come_from_outside_so_that_the_map_spans_its_axes_at_once():
    for count in (2, 3, 8, 28):
        order = from_outside(count, None)
        assert sorted(order) == list(range(count))
        assert order[:2] == [0, count - 1]
    order = from_outside(28, 20)
    assert order[:3] == [20, 0, 27]
    assert order[3] == 10  # the middle of the widest gap, 0 to 20


def test_a_slow_map_is_shown_line_by_line():
    maps: list[Mapped] = []
    x = AxisValues("batch", (1, 2), "", True, True)
    y = AxisValues("seq", (32, 48, 64, 96), "", True, True)
    whole = mapped_over(COMPILED, x, y, so_far=maps.append, here={"seq": 64})
    assert [part.y.values for part in maps] == [(64,), (32, 64), (32, 64, 96)]
    for part in maps:
        rows = [y.values.index(value) for value in part.y.values]
        np.testing.assert_array_equal(part.map.period_s, whole.map.period_s[rows])
    at_once = mapped_over(COMPILED, x, y)
    np.testing.assert_array_equal(whole.map.shares, at_once.map.shares)


def test_lines_of_choices_come_along_the_other_axis_and_equal_the_map_at_once():
    maps: list[Mapped] = []
    scenario = replace(COMPILED, mode="eager")
    x = AxisValues("batch", (1, 2, 3), "", True, True)
    y = AxisValues("mode", ("eager", "cuda_graph", "compiled"), "", False, False)
    whole = mapped_over(scenario, x, y, so_far=maps.append, here={"batch": 2, "mode": "eager"})
    assert [part.x.values for part in maps] == [(2,), (1, 2)]
    at_once = mapped_over(scenario, x, y)
    assert list(whole.sweep.points) == list(at_once.sweep.points)
    np.testing.assert_allclose(whole.map.period_s, at_once.map.period_s, rtol=1e-14)
    np.testing.assert_allclose(maps[1].map.period_s, at_once.map.period_s[:, :2], rtol=1e-14)
