"""Quantities that never decrease with more samples or wider spreads."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.planning.server.replica import factor
from simulator.planning.step.step_time import StepTime
from simulator.prediction import Prediction
from simulator.scenario.scenario import predict
from simulator.timing.intervals import interval
from simulator.timing.profile import learned
from simulator.whatif import apply
from tests.simulator.test_properties import BASES, BATCHES, MANY

CARDS = ("h200", "a100", "rtx4090", "v100")
seconds = st.floats(1e-7, 10)
spreads = st.floats(1, 4)


@cache
def step(base: int, batch: int, card: str) -> Prediction:
    scenario = apply(BASES[base], "batch", {"samples": batch})
    return predict(replace(scenario, gpu=card))


def work(p: Prediction) -> tuple[float, float, float]:
    """FLOPs and bytes of all kernels, and the bytes at the memory's peak."""
    launched = np.bincount(p.columns.work_of, minlength=len(p.works)).tolist()
    flops = sum(n * w.flops for n, w in zip(launched, p.works, strict=True))
    written = sum(n * w.bytes for n, w in zip(launched, p.works, strict=True))
    return flops, written, p.peak_memory_bytes


@pytest.mark.parametrize("base", range(len(BASES)), ids=lambda i: BASES[i].network)
@pytest.mark.parametrize("card", CARDS)
def test_more_samples_are_never_less_work(base: int, card: str) -> None:
    for fewer, more in combinations(BATCHES, 2):
        less, much = work(step(base, fewer, card)), work(step(base, more, card))
        assert all(a <= b for a, b in zip(less, much, strict=True)), (fewer, more)


@pytest.mark.parametrize("base", range(len(BASES)), ids=lambda i: BASES[i].network)
@pytest.mark.parametrize("card", CARDS)
def test_many_more_samples_never_take_less_time(base: int, card: str) -> None:
    """A few more samples may take less time: another kernel gathers up to 16 rows, and cuBLAS
    splits products.
    """
    for fewer, more in combinations(BATCHES, 2):
        if fewer > 1 and more >= 4 * fewer:
            slow, fast = step(base, fewer, card).gpu_busy_s, step(base, more, card).gpu_busy_s
            assert slow <= fast * (1.15 if more < 100 else 1), (fewer, more)


@given(st.sampled_from(CARDS), seconds, seconds, seconds, spreads, spreads, spreads, spreads)
@settings(max_examples=MANY // 4, deadline=None)
def test_the_interval_of_a_surer_host_lies_within_that_of_another(
    card: str,
    period: float,
    busy: float,
    host_s: float,
    low: float,
    high: float,
    lower: float,
    higher: float,
) -> None:
    sure, unsure = (
        msgspec.structs.replace(host(), id="measured", spread=spread)
        for spread in ((1 / low, high), (1 / low / lower, high * higher))
    )
    inner, outer = (
        interval(learned(card), gpu(card), driver, "eager", period, busy, host_s)
        for driver in (sure, unsure)
    )
    assert outer[0] <= inner[0] <= period <= inner[1] <= outer[1]


@given(st.floats(0.2, 1), st.floats(1, 5), st.lists(st.floats(0.01, 0.99), min_size=2, max_size=9))
@settings(max_examples=MANY // 4, deadline=None)
def test_the_quantiles_of_a_plan_are_in_order(low: float, high: float, chosen: list[float]) -> None:
    nothing = np.zeros(2)
    ends = {"low": np.array([low]), "high": np.array([high])}
    served = StepTime(nothing, nothing, nothing, nothing, 1.0, 0.0, 0.0, 0.0, **ends)
    factors = [factor(served, quantile, 1) for quantile in sorted(chosen)]
    assert factors == sorted(factors)
    assert factor(served, 0.1, 1) == pytest.approx(low)
    assert factor(served, 0.9, 1) == pytest.approx(high)
