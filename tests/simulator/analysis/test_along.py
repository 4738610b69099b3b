"""Searches along an axis: they equal predictions one by one; families answer many points at once,
and other points are reported.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.answers.sweeps.sweep import retraced_at
from simulator.analysis.along import AxisSearch, Figures
from simulator.analysis.regimes import next_shift
from simulator.analysis.seek import batch_for_latency, batch_for_throughput, largest_batch
from simulator.analysis.sweep import axis
from simulator.scenario import trace_source
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.traces.families import expecting
from simulator.simulate.step_columns import step_row
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

BASE = small_scenario("mlp-tiny", sizes=dict(width=2048, depth=3), dtype="fp16", batch=64)

ODD = '''
import torch

class Odd(torch.nn.Module):
    """Another program at every batch: no family of traces has it."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2048, 2048)

    def forward(self, x):
        for _ in range(1 + x.shape[0] % 7):
            x = torch.relu(self.layer(x))
        return x

    def example_inputs(self, batch, seq=None):
        return (torch.empty(batch, 2048),)

def make():
    return Odd()
'''


def test_points_predicted_at_once_equal_single_predictions():
    line = AxisSearch(BASE, axis(BASE, "batch"))
    with expecting(16):
        line.look([3, 50, 700])
    seen = dict(line.tried)
    assert set(seen) == {3, 50, 700} and not line.retraced
    for value, each in seen.items():
        p = line.forward(value)
        assert each.row == pytest.approx(step_row(p), rel=1e-9, abs=1e-6)
        assert (each.regime, each.fits) == (p.regime, p.fits)
        assert each.row != Figures.of(predict(BASE)).row


class Straight(AxisSearch):
    """A step whose batch of n takes n seconds."""

    def at(self, value: float) -> Figures:
        return Figures((float(value), *[0.0] * 13))


@pytest.mark.parametrize("place", [2, 205, 333, 1000])
@pytest.mark.parametrize("even", [True, False])
def test_an_end_is_found_wherever_it_is_and_however_the_margin_goes(place: int, even: bool):
    line = Straight(BASE, axis(BASE, "batch"), lambda scenario: predict(BASE))

    def margin(f: Figures) -> float:
        more = f["period_s"] - place + 0.5
        return more if even else 1.0 if more > 0 else -1e-9

    up = line.end(1, 1024, lambda f: f["period_s"] < place, lambda f: -margin(f))
    assert up == (place - 1, place)
    assert line.end(1024, 1, lambda f: f["period_s"] >= place, margin) == (place, place - 1)


def test_searches_at_once_and_one_by_one_agree():
    def slowly(scenario: Scenario):
        return predict(scenario)

    seconds, rate = predict(BASE).latency_s * 3, 2 * 64 / predict(BASE).period_s
    for search in (
        lambda answer: batch_for_latency(BASE, seconds, answer),
        lambda answer: batch_for_throughput(BASE, rate, answer),
        lambda answer: largest_batch(BASE, answer),
    ):
        quick, slow = search(predict), search(slowly)
        assert (quick.value, quick.beyond, quick.sentence) == (
            slow.value,
            slow.beyond,
            slow.sentence,
        )
        assert quick.prediction.period_s == slow.prediction.period_s
    for along, down in (("batch", False), ("batch", True), ("host_speed", False)):
        quick, slow = (next_shift(BASE, along, down=down, predictor=a) for a in (predict, slowly))
        assert (quick.before, quick.after) == (slow.before, slow.after)
        assert quick.last == pytest.approx(slow.last, rel=2e-4)


def test_a_search_that_ends_within_a_family_traces_no_point_beyond_it(
    monkeypatch: pytest.MonkeyPatch,
):
    def refuse(request: object, gpu: object) -> None:
        raise AssertionError(f"traced {request}")

    trace_source.forget()
    monkeypatch.setattr(trace_source, "_run", refuse)
    search = largest_batch(Scenario("bert-base", gpu="h200"))
    # the packaged family ends at batch 16,384; the search would have tried 32,768 with it
    assert 8192 < search.value < 16_384 == max(search.tried)
    assert not search.traced


def test_a_search_reports_the_traced_points(tmp_path: Path):
    (tmp_path / "odd.py").write_text(ODD)
    odd = Scenario(f"{tmp_path}/odd.py:make", gpu="h200")
    trace_source.forget()
    shift = next_shift(odd, "batch", start=4, limit=128)
    assert shift.first is not None and shift.retraced and set(shift.retraced) <= set(shift.tried)
    for value in (shift.last, shift.first):
        beside = apply(odd, "batch", {"samples": int(value)})
        assert (predict(beside).regime == shift.before) == (value == shift.last)
    assert not next_shift(BASE, "batch", start=4, limit=64).retraced


def test_traced_points_are_reported_in_words():
    why = {24.0: "batch 24 is outside the range that was verified", 1.0: "batch 1: too few points"}
    assert retraced_at("batch", why) == (
        "retraced at batch 1 and 24: outside the range that was verified; too few points"
    )
    many = {float(v): f"batch {v} is outside the range that was verified" for v in range(1, 10)}
    assert retraced_at("batch", many) == (
        "retraced at batch 1, 2, 3, 4, 5 and 4 more: outside the range that was verified"
    )
    assert retraced_at("batch", {}) == ""
