"""Doubts about advice to use a GPU whose software was not calibrated."""

from dataclasses import replace

import msgspec
import pytest

from simulator.analysis.advice import advise
from simulator.analysis.cautions import caution
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.trial import Trial
from tests.simulator.whatif.conftest import small_scenario

SCENARIO = small_scenario("bert-base", seq=16, batch=8)


def on(gpu: str, period_s: float, interval_s: tuple[float, float]) -> Prediction:
    p = predict(replace(SCENARIO, gpu=gpu))
    return replace(p, period_s=period_s, interval_s=interval_s)


TODAY = on("h200", 22e-3, (21e-3, 25e-3))


def test_the_interval_contains_the_present_time() -> None:
    words = "ROCm was not calibrated, and the 80% interval contains the time on H200 SXM 141GB"
    assert caution(TODAY, on("mi300x", 16e-3, (13e-3, 31e-3))) == words
    assert caution(TODAY, on("mi300x", 16e-3, (13e-3, 21e-3))) == "ROCm was not calibrated"
    assert caution(TODAY, on("apple_m3", 9e-3, (8e-3, 20e-3))) == "Metal (MPS) was not calibrated"


def test_steps_compare_by_sample() -> None:
    """31 ms for two samples is less per sample than today's time for one."""
    p = on("mi300x", 16e-3, (13e-3, 31e-3))
    twice = replace(p, trace=msgspec.structs.replace(p.trace, samples=2 * p.trace.samples))
    assert caution(TODAY, twice) == "ROCm was not calibrated"


@pytest.mark.parametrize("gpu", ["h200", "b200", "a100"])
def test_cuda_needs_no_caution(gpu: str) -> None:
    assert caution(TODAY, on(gpu, 16e-3, (13e-3, 31e-3))) == ""


def test_a_change_on_the_same_gpu_needs_no_caution() -> None:
    before = on("mi300x", 22e-3, (17e-3, 40e-3))
    assert caution(before, on("mi300x", 21e-3, (16e-3, 38e-3))) == ""
    calibrated = replace(on("mi300x", 16e-3, (13e-3, 31e-3)), tiers={"interpolated": 1.0})
    assert caution(TODAY, calibrated) == ""


def test_advice_has_the_caution() -> None:
    trials = [Trial(f"+gpu={gpu}", ("compute",), "", "machine") for gpu in ("mi300x", "b200_sxm")]
    scenario = Scenario("bert-base", batch=64, seq=512, dtype="bf16")
    cautions = {a.whatif: a.caution for a in advise(scenario, trials=trials).advice}
    assert cautions["+gpu=b200_sxm"] == ""
    assert cautions["+gpu=mi300x"].startswith("ROCm was not calibrated, and the 80% interval")
