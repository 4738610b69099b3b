"""The price of a GPU: from the user, from a purchase written off, or from the catalogue."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simulator.hardware.gpu import GPU
from simulator.planning.spec import Prices

_CATALOGUE = Path(__file__).with_name("prices.toml")


@dataclass(frozen=True)
class Price:
    """USD per hour of one GPU without energy, and the source of the figure."""

    usd_per_h: float
    source: str


def price(gpu: GPU, prices: Prices) -> Price | None:
    """The price of a GPU, or None; without a price, the plan counts GPU-hours."""
    if gpu.id in prices.hourly_usd:
        return Price(prices.hourly_usd[gpu.id], "yours")
    if gpu.id in prices.purchase_usd:
        hours = prices.lifetime_s / 3600 * prices.utilisation
        return Price(prices.purchase_usd[gpu.id] / hours, "your purchase, written off")
    listed = _catalogue().get(gpu.id) if prices.catalogue else None
    if listed is None:
        return None
    return Price(listed["usd_per_h"], f"list, {listed['date']}: {listed['source']}")


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_CATALOGUE.read_text("utf-8"))
