"""Goals: the answer is verified by a prediction, and the next value misses the goal."""

from __future__ import annotations

import pytest

from simulator.analysis.along import Figures
from simulator.analysis.seek import (
    UNDER,
    SeekResult,
    batch_for_latency,
    batch_for_throughput,
    batch_out_of_overhead,
    batch_under,
    flip,
    largest_batch,
)
from simulator.analysis.seek_fusion import fusion_for_speedup, fusion_for_time
from simulator.errors import InputError
from simulator.formats.numbers import number
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

BASE = small_scenario("mlp-tiny", sizes=dict(width=1024, depth=2), dtype="fp16")


def at(batch: float):
    return predict(apply(BASE, "batch", {"samples": int(batch)}))


def test_the_largest_batch_fits_and_the_next_does_not():
    small = apply(BASE, "figure", {"of": "memory_bytes", "value": 60 * 2**20})
    result = largest_batch(small)
    assert result.prediction.fits
    assert result.beyond == result.value + 1
    assert not predict(apply(small, "batch", {"samples": int(result.beyond)})).fits
    tight = apply(BASE, "figure", {"of": "memory_bytes", "value": 2**20})
    with pytest.raises(InputError, match="batch 1 misses the goal, the batch fits"):
        largest_batch(tight)


def test_the_batch_meets_the_latency_and_the_next_does_not():
    target = at(64).latency_s * 1.5
    result = batch_for_latency(BASE, target)
    assert result.value >= 64
    assert at(result.value).latency_s <= target < at(result.value + 1).latency_s
    with pytest.raises(InputError, match="latency is -1: expected more than 0 seconds"):
        batch_for_latency(BASE, -1)


def test_a_batch_that_does_not_fit_does_not_meet_a_latency():
    """A limit of one minute allows batches far beyond 60 MiB: memory limits them, and the answer
    says so."""
    small = apply(BASE, "figure", {"of": "memory_bytes", "value": 60 * 2**20})
    result = batch_for_latency(small, 60.0)
    assert result.prediction.fits
    assert result.value == largest_batch(small).value
    assert "of 0.1 GiB" in result.sentence


def test_a_search_reports_that_it_ended_at_the_largest_batch():
    """A network with 64 numbers per sample: 2²⁰ samples fit on any card."""
    tiny = small_scenario("mlp-tiny", sizes=dict(width=16, depth=1), dtype="fp16")
    result = largest_batch(tiny)
    assert result.value == 1 << 20 and result.beyond is None
    assert result.sentence.endswith("; no larger batch was tried")


def test_a_throughput_is_reached_by_the_batch_and_not_by_the_one_before():
    rate = 100 / at(100).period_s
    result = batch_for_throughput(BASE, rate)
    assert result.value <= 100
    assert result.value / at(result.value).period_s >= rate
    assert (result.value - 1) / at(result.value - 1).period_s < rate
    shown = number(result.value / at(result.value).period_s, 4)
    assert result.sentence.startswith(f"batch {result.value:,.0f}: {shown} samples/s")
    assert "e+" not in result.sentence
    with pytest.raises(InputError, match="no batch reaches the goal, 1e\\+15 samples/s"):
        batch_for_throughput(BASE, 1e15)


def test_overhead_is_left_at_a_batch():
    result = batch_out_of_overhead(BASE)
    assert at(result.value).regime != "overhead" == at(result.value - 1).regime


def test_a_flip_is_seen_in_its_forward_run():
    wide = small_scenario("mlp-tiny", sizes=dict(width=3072), dtype="fp16", batch=512)
    result = flip(wide, "host_speed")
    assert result.prediction.regime != predict(wide).regime == "overhead"
    assert predict(apply(wide, "host_speed", {"times": result.beyond})).regime == "overhead"
    with pytest.raises(InputError, match="no flip: overhead-bound from bandwidth 1 on"):
        flip(small_scenario("mlp-tiny"), "bandwidth")


def test_an_answer_reports_whether_it_was_retraced():
    base = small_scenario("mlp-tiny", sizes=dict(width=80))
    result = batch_for_latency(base, predict(base).latency_s * 50)
    assert result.value > 8 and result.retraced == ""  # a family of traces answers
    alone = small_scenario("mlp-tiny", sizes=dict(width=88))
    sought = SeekResult("", "batch", 4, None, alone, predict(alone), "")
    assert sought.retraced == ("too few points of this network were traced to fit a family")


def test_the_least_fusion_that_reaches_a_time_or_a_speedup():
    base = small_scenario("bert-base", seq=16)
    levels = ("none", "pointwise", "pointwise+reductions", "compiled")
    periods = [predict(apply(base, "fusion", {"level": level})).period_s for level in levels]
    for goal in periods:
        result = fusion_for_time(base, goal)
        first = next(i for i, period in enumerate(periods) if period <= goal)
        assert (result.axis, result.value) == ("fusion", first)
        assert result.beyond == (first - 1 if first else None)
        assert result.prediction.period_s == predict(result.scenario).period_s == periods[first]
    assert min(periods) < periods[0]
    times = periods[0] / min(periods)
    result = fusion_for_speedup(base, times * 0.999)
    assert result.value > 0 and periods[0] / result.prediction.period_s >= times * 0.999
    assert fusion_for_speedup(base, 1).value == 0
    with pytest.raises(InputError, match="no level of fusion reaches the goal, 1000 times as fast"):
        fusion_for_speedup(base, 1000)
    with pytest.raises(
        InputError, match=r"compiled takes .* ms; expected an easier goal; try cuda_gr"
    ):
        fusion_for_time(base, min(periods) * 0.99)
    with pytest.raises(InputError, match="speed-up is 0: expected more than 0 times"):
        fusion_for_speedup(base, 0)


@pytest.mark.parametrize(
    "figure, most, column, scale",
    [
        ("step alone", 0.5, "latency_s", 1e-3),
        ("step", 0.5, "period_s", 1e-3),
        ("memory", 1.0, "memory_bytes", 2**30),
        ("energy per step", 0.1, "joules", 1.0),
    ],
)
def test_the_largest_batch_with_a_figure_under_a_limit(
    figure: str, most: float, column: str, scale: float
):
    result = batch_under(Scenario("mlp-tiny"), figure, most)
    assert result.goal == f"{figure} under {most:g} {UNDER[figure][1]}"
    for value, holds in ((result.value, True), (result.beyond, False)):
        assert value is not None
        p = predict(Scenario("mlp-tiny", batch=int(value)))
        assert (Figures.of(p)[column] <= most * scale) == holds


def test_a_free_question_about_an_unknown_figure():
    with pytest.raises(InputError) as error:
        batch_under(Scenario("mlp-tiny"), "colour", 3.0)
    assert str(error.value) == (
        "no figure 'colour': expected step alone, step, memory, energy per step; choose one"
    )
    with pytest.raises(InputError, match="memory is 0: expected more than 0 GiB"):
        batch_under(Scenario("mlp-tiny"), "memory", 0)
