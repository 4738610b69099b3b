"""Where a search for the next regime starts, how it steps and where it ends, with shares that the
test sets."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator.analysis import regimes
from simulator.analysis.along import AxisSearch, Figures
from simulator.analysis.regimes import (
    _last_predicted,
    _limit,
    _places,
    _start,
    _steps,
    next_shift,
    regime_map,
)
from simulator.analysis.sweep import Axis, axis
from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import Prediction
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from tests.simulator.whatif.conftest import small_scenario

BASE = small_scenario("mlp-tiny")
PLAIN = predict(BASE)
WHOLE, SCALE = Axis("batch", "whole", 1, 2**31), Axis("bandwidth", "scale", 0.1, 10)


def world(scenario: Scenario, most: int = 5000) -> Prediction:
    """Overhead is 4,500.5, memory 3,000 / bandwidth, and compute 1 per sample, up to a batch of
    `most`."""
    resolved = resolve(scenario)
    batch = resolved.request.batch or 1
    if batch > most:
        raise InputError(f"{most} at most")
    bandwidth = resolved.gpu.bandwidth_bytes_per_s / PLAIN.gpu.bandwidth_bytes_per_s
    times = {"compute": 1.0 * batch, "memory": 3000 / bandwidth, "overhead": 4500.5}
    total = sum(times.values())
    shares: Any = {r: t / total for r, t in times.items()}
    return replace(PLAIN, shares=shares, period_s=total)


def test_a_shift_between_the_last_step_and_the_first_refusal_is_found() -> None:
    # 3,000 is accepted, then 6,000 is refused; compute dominates from 4,501 to 5,000
    shift = next_shift(BASE, "batch", start=3000, predictor=world)
    assert (shift.last, shift.first, shift.after) == (4500, 4501, "compute")
    ends = next_shift(BASE, "batch", start=3000, predictor=lambda s: world(s, 4400))
    assert (ends.last, ends.first, ends.after) == (4400, None, None)
    assert ends.reason == "4400 at most"
    assert ends.sentence == "overhead-bound from batch 3000 on (4400 at most)"


def test_a_search_starts_at_the_scenario_and_ends_at_its_limit() -> None:
    shift = next_shift(BASE, "batch", limit=50, predictor=world)
    assert (shift.start, shift.last, shift.first, shift.reason) == (4, 50, None, "searched to 50")
    down = next_shift(BASE, "batch", start=4800, down=True, predictor=world)
    assert down.sentence == "compute-bound down to batch 4501, then overhead-bound"
    assert sorted(down.tried) == sorted(set(down.tried)) and {4500, 4501} <= set(down.tried)
    whole = next_shift(BASE, "batch", start=7.9, limit=9, predictor=world)
    assert (whole.start, whole.last) == (7, 9)


def test_shifts_are_equal_whatever_was_tried() -> None:
    shift = next_shift(BASE, "batch", start=3000, predictor=world)
    assert replace(shift, tried={}, retraced={1.0: "none"}) == shift


def test_the_first_step_is_a_factor_of_two() -> None:
    seen: list[int] = []

    def watched(scenario: Scenario) -> Prediction:
        seen.append(resolve(scenario).request.batch or 1)
        return world(scenario)

    next_shift(BASE, "batch", start=3, limit=20, predictor=watched)
    assert seen == [3, 6, 12, 20]


@pytest.mark.parametrize(
    ("line", "at", "down", "limit", "expected"),
    [
        (WHOLE, 3, False, 20, [6, 12, 20]),
        (WHOLE, 3, False, 7.5, [6, 8]),
        (WHOLE, 20, True, 1, [10, 5, 2, 1]),
        (WHOLE, 20, True, 4, [10, 5, 4]),
        (WHOLE, 8, False, 8, []),
        (WHOLE, 8, True, 8, []),
        (SCALE, 1.0, False, 10, [2, 4, 8, 10]),
        (SCALE, 1.0, True, 0.2, [0.5, 0.25, 0.2]),
    ],
)
def test_steps(line: Axis, at: float, down: bool, limit: float, expected: list[float]) -> None:
    assert list(_steps(line, at, down, limit)) == expected


def test_limits_grow_with_what_a_trace_costs() -> None:
    width = axis(BASE, "width")
    assert _limit(width, 64, False) == 16 * 64
    assert _limit(width, 64, True) == 1
    assert _limit(replace(width, high=100), 64, False) == 100
    assert _limit(WHOLE, 3, False) == 65536
    assert _limit(SCALE, 1.0, False) == 10
    assert _limit(replace(SCALE, high=np.inf), 1.0, False) == 65536
    assert (_limit(SCALE, 1.0, True), _limit(replace(SCALE, low=0.0), 1.0, True)) == (0.1, 1e-3)


def test_a_search_starts_at_the_own_value() -> None:
    bert = small_scenario("bert-base", batch=6)
    assert _start(bert, axis(bert, "batch")) == 6
    assert _start(replace(bert, seq=48), axis(bert, "seq")) == 48
    assert _start(bert, SCALE) == 1.0
    # the catalogue's own defaults, where the scenario gives none
    plain, own = Scenario("bert-base"), CATALOGUE["bert-base"]
    assert _start(plain, axis(plain, "batch")) == own.batch
    assert _start(plain, axis(plain, "seq")) == own.seq
    assert _start(plain, axis(plain, "layers")) == 12
    assert _start(plain, Axis("heads_of_none", "whole", 3, 9)) == 3
    assert _start(plain, Axis("heads_of_none", "whole", 0, 9)) == 1


def test_a_search_starts_at_one_if_neither_scenario_nor_catalogue_names_a_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Scenario("bert-base")
    axes = axis(plain, "batch"), axis(plain, "seq")
    monkeypatch.setattr(regimes, "CATALOGUE", {})
    request = resolve(plain).request
    for line, own in zip(axes, (request.batch, request.seq), strict=True):
        assert _start(plain, line) == (own or 1)
    assert 1 in [_start(plain, line) for line in axes]


@pytest.mark.parametrize(
    ("along", "announced"), [("batch", (16, 1)), ("seq", (1, 16)), ("bandwidth", (1, 1))]
)
def test_a_search_announces_its_points_along_batch_and_sequence(
    monkeypatch: pytest.MonkeyPatch, along: str, announced: tuple[int, int]
) -> None:
    calls: list[tuple[int, int]] = []

    @contextmanager
    def expecting(batches: int, seqs: int = 1) -> Generator[None]:
        calls.append((batches, seqs))
        yield

    monkeypatch.setattr(regimes, "expecting", expecting)
    next_shift(small_scenario("bert-base"), along, limit=8, predictor=lambda s: PLAIN)
    assert calls == [announced]


def test_the_last_value_before_a_refusal_is_found_by_halving() -> None:
    line = AxisSearch(BASE, axis(BASE, "batch"), lambda s: world(s, 37))
    assert _last_predicted(line, 8, 64) == 37
    assert _last_predicted(line, 37, 38) == 37


def test_a_search_that_single_predictions_do_not_confirm_is_done_again_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[bool] = []

    class Doubted(AxisSearch):
        def __init__(self, *args: Any, one_by_one: bool = False) -> None:
            super().__init__(*args, one_by_one=one_by_one)
            searches.append(one_by_one)

        def confirmed(self, value: float) -> Any:
            return self.at(3000) if len(searches) == 1 else super().confirmed(value)

    monkeypatch.setattr(regimes, "AxisSearch", Doubted)
    shift = next_shift(BASE, "batch", start=3000, predictor=world)
    assert (shift.last, shift.first) == (4500, 4501)
    assert searches == [False, True]


def test_places_of_choices_are_their_numbers() -> None:
    assert _places([1, 2.5, 8]).tolist() == [1, 2.5, 8]
    for choices in (["fp16", "fp32", "bf16"], [True, False, True], [4, "fp16", 2]):
        assert _places(choices).tolist() == [0, 1, 2]


def test_a_map_is_the_grid_of_its_points() -> None:
    batches, speeds = [10, 2000, 4300, 4900], [0.5, 0.6, 1.0, 2.0]
    chart = regime_map(BASE, "batch", batches, "bandwidth", speeds, predictor=world)
    assert (chart.x, chart.y, chart.xs, chart.ys) == (
        "batch",
        "bandwidth",
        tuple(batches),
        tuple(speeds),
    )
    # at bandwidth 0.5, memory takes 6,000 of the total 10 + 6,000 + 4,500.5
    assert chart.period_s[0, 0] == pytest.approx(10510.5)
    assert chart.shares[0, 0].tolist() == pytest.approx(
        [10 / 10510.5, 6000 / 10510.5, 4500.5 / 10510.5]
    )
    assert chart.regime.tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [2, 2, 2, 0], [2, 2, 2, 0]]
    assert chart.refused == ()
    # memory (3,000 / bandwidth) is less than 4,500.5 above a bandwidth of 0.667; compute exceeds
    # overhead above batch 4,500.5
    lines = {b.between: np.concatenate(b.lines) for b in chart.boundaries}
    crossing = lines["memory", "overhead"]
    assert ((crossing[:, 1] > 0.6) & (crossing[:, 1] < 1.0)).all()
    # the line ends where compute takes 4,500
    assert 4000 < crossing[:, 0].max() < 4700
    overhead = lines["compute", "overhead"]
    assert ((overhead[:, 0] > 4300) & (overhead[:, 0] < 4900)).all()
    assert overhead[:, 1].min() > 0.6
    with pytest.raises(InputError, match="at least one value on each axis"):
        regime_map(BASE, "batch", [], "bandwidth", speeds, predictor=world)
    with pytest.raises(InputError, match="at least one value on each axis"):
        regime_map(BASE, "batch", batches, "bandwidth", [], predictor=world)


def test_a_search_predicts_four_steps_at_once_and_then_around_the_expected_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Overhead leads by 1,428.5 of 10,572.5 at a batch of 3,072, and lags by 1,643.5 of 13,644.5 at
    6,144. On a logarithmic scale the lead ends at 0.5287 of the step, so 3,072 · 2^(0.5287 ∓ 0.03),
    4,340 and 4,525, are predicted. Between those the lead falls from 160.5 of 11,840.5 to −24.5 of
    12,025.5 and ends at 0.8694: 4,340 · (4,525 / 4,340)^(0.8694 ∓ 0.03) are 4,494 and 4,507."""
    looks: list[list[float]] = []

    class Together(AxisSearch):
        def look(self, values: Any) -> None:
            looks.append(list(values))
            for value in looks[-1]:
                self.tried[value] = Figures.of(world(self.scenario_at(value), 10**6))

    monkeypatch.setattr(regimes, "AxisSearch", Together)
    shift = next_shift(BASE, "batch", start=3, predictor=world)
    assert (shift.last, shift.first) == (4500, 4501)
    assert looks[:4] == [
        [3, 6, 12, 24, 48],
        [6, 12, 24, 48],
        [96, 192, 384, 768],
        [1536, 3072, 6144, 12288],
    ]
    assert looks[4:6] == [[4340, 4525], [4494, 4507]]
    assert len(shift.tried) <= 20
