"""Regime shifts and maps of a model with known shares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator.analysis.contours import contour
from simulator.analysis.regimes import next_shift, regime_map
from simulator.analysis.sweep import axis, sweep
from simulator.errors import InputError
from simulator.prediction import REGIMES, Prediction
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from tests.simulator.whatif.conftest import small_scenario

BASE = small_scenario("mlp-tiny")
PLAIN = predict(BASE)


def world(scenario: Scenario) -> Prediction:
    """Overhead is 71.5, memory 30 / bandwidth, compute 1 per sample: compute dominates from 72
    samples on.
    """
    resolved = resolve(scenario)
    batch = resolved.request.batch or 1
    if batch > 5000:
        raise InputError("5000 at most")
    bandwidth = resolved.gpu.bandwidth_bytes_per_s / PLAIN.gpu.bandwidth_bytes_per_s
    times = {"compute": 1.0 * batch, "memory": 30 / bandwidth, "overhead": 71.5}
    total = sum(times.values())
    shares: Any = {r: t / total for r, t in times.items()}
    return replace(PLAIN, shares=shares, period_s=total)


def test_a_shift_is_a_number_with_the_regime_on_each_side():
    shift = next_shift(BASE, "batch", start=1, predictor=world)
    assert (shift.last, shift.first) == (71, 72)
    assert shift.sentence == "overhead-bound up to batch 71, then compute-bound"


def test_a_shift_downwards_and_along_a_scale():
    down = next_shift(BASE, "batch", start=300, down=True, predictor=world)
    assert (down.last, down.first, down.after) == (72, 71, "overhead")
    scale = next_shift(BASE, "bandwidth", down=True, predictor=world)
    # memory, 30 / bandwidth, equals overhead, 71.5, at a bandwidth of 30 / 71.5
    assert scale.first == pytest.approx(30 / 71.5, rel=2e-4)
    assert (scale.before, scale.after) == ("overhead", "memory")
    assert scale.first < scale.last


def test_an_axis_that_ends_has_a_reason():
    shift = next_shift(BASE, "batch", start=100, predictor=world)
    assert (shift.first, shift.last, shift.after) == (None, 5000, None)
    assert "5000 at most" in shift.sentence
    assert next_shift(BASE, "bandwidth", predictor=world).reason == "searched to 10"


def test_axes_that_mean_nothing_are_refused():
    with pytest.raises(InputError, match=r"no axis 'colour' for mlp-tiny: expected .* width"):
        next_shift(BASE, "colour")
    with pytest.raises(InputError, match="precision has no order"):
        next_shift(BASE, "precision")
    with pytest.raises(InputError, match="two different axes"):
        regime_map(BASE, "batch", [1], "batch", [2])
    assert axis(BASE, "width").kind == "whole"


def test_a_shift_of_a_network_is_confirmed_by_predictions_around_it():
    small = small_scenario("mlp-tiny", sizes=dict(width=3072), dtype="fp16", batch=512)
    shift = next_shift(small, "host_speed")
    assert shift.first is not None
    line = axis(small, "host_speed")
    assert predict(line.at(small, shift.last)).regime == shift.before
    assert predict(line.at(small, shift.first)).regime == shift.after


def test_a_map_holds_regimes_and_their_boundary():
    batches, widths = [1, 8, 32, 64, 128, 512], [0.2, 0.4, 1.0, 4.0]
    chart = regime_map(BASE, "batch", batches, "bandwidth", widths, predictor=world)
    assert chart.shares.shape == (4, 6, 3)
    assert chart.shares.sum(axis=-1) == pytest.approx(1)
    assert (chart.regime == chart.shares.argmax(axis=-1)).all()
    lines = {b.between: b.lines for b in chart.boundaries}
    crossing = np.concatenate(lines["compute", "overhead"])
    assert np.all((crossing[:, 0] > 64) & (crossing[:, 0] < 128))
    assert ("memory", "overhead") in lines or ("overhead", "memory") in lines
    refused = regime_map(BASE, "batch", [1, 10**4], "bandwidth", widths, predictor=world)
    assert (refused.regime[:, 1] == -1).all()
    assert refused.refused[0] == "5000 at most"


def test_the_zero_of_a_plane_is_a_line():
    xs, ys = np.array([-2.0, -1, 1, 2]), np.array([-3.0, 0.5, 3.0])
    field = xs[None, :] + 0 * ys[:, None]
    (line,) = contour(field, np.ones_like(field), xs, ys)
    assert line[:, 0] == pytest.approx(0)
    assert sorted(line[:, 1]) == pytest.approx([-3, 0.5, 3])
    assert contour(field, -np.ones_like(field), xs, ys) == ()
    field[0, 0] = np.nan
    assert len(contour(field, np.ones_like(field), xs, ys)) == 1


def test_a_sweep_has_a_row_for_each_point():
    swept = sweep(BASE, {"batch": [1, 10**4], "bandwidth": [1.0, 2.0]}, world)
    assert [dict(p) for p in swept.points][1] == {"batch": 1, "bandwidth": 2.0}
    assert list(swept.refused) == [2, 3]
    assert np.isnan(swept.columns["period_s"][2])
    assert swept.columns["period_s"][1] == 1 + 15 + 71.5
    assert swept.regime(0) == "overhead" and swept.regime(3) is None
    row = swept.rows()[0]
    assert sum(row[r] for r in REGIMES) == pytest.approx(1)
