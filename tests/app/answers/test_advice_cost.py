"""The cost of a sample on another GPU, at list prices."""

from dataclasses import replace
from typing import cast

from app.answers.advice_cost import cost_words
from simulator.analysis.advice import Advice, sample_s
from simulator.hardware.gpu import gpu
from simulator.planning.prices import price
from simulator.planning.spec import Prices
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

BASE = Scenario("mlp-tiny", gpu="h200")


class Tried:
    """Advice as far as its cost depends on it."""

    def __init__(self, scenario: Scenario, sample: float) -> None:
        self.scenario, self.sample_s = scenario, sample


def words(p: Prediction, scenario: Scenario, faster: float, base: Scenario = BASE) -> str:
    return cost_words(base, p, cast(Advice, Tried(scenario, sample_s(p) / faster)))


def test_the_cost_is_price_times_time(tiny_prediction: Prediction):
    h200, l40s = price(gpu("h200"), Prices()), price(gpu("l40s"), Prices())
    assert h200 is not None and l40s is not None
    ratio = l40s.usd_per_h / h200.usd_per_h  # as fast
    other = replace(BASE, gpu="l40s")
    listed = f"{l40s.usd_per_h:.2f} instead of {h200.usd_per_h:.2f} USD an hour"
    lower = f"at {1 - ratio:.0%} lower cost per sample (list prices: {listed})"
    assert words(tiny_prediction, other, 1.0) == lower
    assert words(tiny_prediction, other, ratio).startswith("at the same cost")
    assert words(tiny_prediction, other, ratio / 2).startswith("at 100% higher cost per sample")


def test_there_is_no_cost_without_two_list_prices(tiny_prediction: Prediction):
    assert words(tiny_prediction, BASE, 2.0) == ""  # the same GPU
    unlisted = replace(BASE, gpu="apple_m3")
    assert price(gpu("apple_m3"), Prices()) is None
    assert words(tiny_prediction, unlisted, 2.0) == ""
    assert words(tiny_prediction, replace(BASE, gpu="l40s"), 2.0, base=unlisted) == ""
    changed = apply(replace(BASE, gpu="l40s"), "bandwidth", {"times": 2.0})
    assert words(tiny_prediction, changed, 2.0) == ""  # a GPU that nobody sells
