"""Energy and money of candidates: power drawn, USD an hour, grams of CO₂."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.hardware.gpu import GPU
from simulator.planning.prices import price
from simulator.planning.spec import Prices


@dataclass(frozen=True)
class Bill:
    """Of all GPUs of a candidate; None: not known."""

    usd_per_h: float | None
    source: str
    watts: float | None
    co2_g_per_h: float | None


def bill(gpu: GPU, count: int, utilisation: float, prices: Prices) -> Bill:
    """Power is the card's limit times its busy share, for want of a model of power: an upper bound
    while it works, none of its idle draw. A building multiplies it by its PUE."""
    watts = None if gpu.tdp_w is None else gpu.tdp_w * utilisation * count * prices.pue
    known = price(gpu, prices)
    usd = None
    if known is not None:
        usd = known.usd_per_h * count + (watts or 0.0) / 1000 * prices.energy_usd_per_kwh
    grams = prices.co2_g_per_kwh
    co2 = None if watts is None or grams is None else watts / 1000 * grams
    return Bill(usd, known.source if known else "no price", watts, co2)
