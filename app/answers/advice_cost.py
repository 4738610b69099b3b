"""The cost of a sample on another GPU, at the planner's list prices. Importing the prices loads the
planner: the explorer does it in the background."""

from __future__ import annotations

from app.quantities import percent
from simulator.analysis.advice import Advice, sample_s
from simulator.errors import RidgepointError
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as stored_gpu
from simulator.planning.prices import price
from simulator.planning.spec import Prices
from simulator.prediction import Prediction
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario


def cost_words(scenario: Scenario, base: Prediction, advice: Advice) -> str:
    """The cost on the GPU of the advice: "at 16% lower cost per sample (list prices: 5.50 instead
    of 3.50 USD an hour)". Empty for advice on the same GPU, and if a GPU has no list price."""
    before, after = resolve(scenario).gpu, resolve(advice.scenario).gpu
    prices = _list_usd_per_h(before), _list_usd_per_h(after)
    if before.id == after.id or prices[0] is None or prices[1] is None:
        return ""
    ratio = prices[1] * advice.sample_s / (prices[0] * sample_s(base))
    change = f"{percent(abs(ratio - 1))} {'lower' if ratio < 1 else 'higher'}"
    words = "the same" if abs(ratio - 1) < 0.005 else change
    listed = f"{prices[1]:.2f} instead of {prices[0]:.2f} USD an hour"
    return f"at {words} cost per sample (list prices: {listed})"


def _list_usd_per_h(card: GPU) -> float | None:
    """The list price; None for a GPU without one, or with changed figures."""
    try:
        listed = price(card, Prices()) if card == stored_gpu(card.id) else None
    except RidgepointError:  # the card is in no folder
        return None
    return listed and listed.usd_per_h
