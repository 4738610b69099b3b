"""Energy and cost of candidates: power, USD per hour, grams of CO₂."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.hardware.gpu import GPU
from simulator.planning.prices import price
from simulator.planning.spec import Prices

NO_PRICE = "no price"
"""The source that is given for a GPU without a known price."""


def unpriced_limit(prices: Prices, limit_usd: float | None, usd: float | None) -> str:
    """Why a limit on a cost cannot be checked: the price is not known. Empty without a limit, or
    with a price."""
    if limit_usd is None or usd is not None:
        return ""
    limit = prices.currency.text(limit_usd)
    return f"no price is known, so its cost cannot be compared with {limit}"


@dataclass(frozen=True)
class Bill:
    """Costs per hour of all GPUs of a candidate; None if not known."""

    usd_per_h: float | None
    source: str
    watts: float | None
    co2_g_per_h: float | None


def bill(
    gpu: GPU, count: int, watts_each: float | None, prices: Prices, run_s: float | None = None
) -> Bill:
    """The bill of `count` GPUs that draw `watts_each` on average, times the PUE of the building,
    for a run of `run_s` seconds or a service. Energy that is not known is left out."""
    watts = None if watts_each is None else watts_each * count * prices.pue
    gpu_price = price(gpu, prices, run_s)
    usd = None
    if gpu_price is not None:
        usd = gpu_price.usd_per_h * count + (watts or 0.0) / 1000 * prices.energy_usd_per_kwh
    grams = prices.co2_g_per_kwh
    co2 = None if watts is None or grams is None else watts / 1000 * grams
    return Bill(usd, gpu_price.source if gpu_price else NO_PRICE, watts, co2)
