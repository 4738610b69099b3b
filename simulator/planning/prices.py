"""The price of a GPU: from the user, from a purchase written off, or from the catalogue."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from simulator.hardware.gpu import GPU
from simulator.planning.spec import Prices
from simulator.planning.wording import duration

_CATALOGUE = Path(__file__).with_name("prices.toml")


@dataclass(frozen=True)
class Price:
    """USD per hour of one GPU without energy, and the source of the figure."""

    usd_per_h: float
    source: str


def price(gpu: GPU, prices: Prices, run_s: float | None = None) -> Price | None:
    """The price of a GPU, or None; without a price, the plan counts GPU-hours.

    If the user gives several rental prices, the lowest applies. A run of `run_s` seconds pays for
    whole terms of a reservation; a service, which does not end, pays for its hours.
    """
    rents: list[Price] = []
    if gpu.id in prices.hourly_usd:
        rents.append(Price(prices.hourly_usd[gpu.id], "yours"))
    if gpu.id in prices.reserved_usd:
        rents.append(_reserved(prices.reserved_usd[gpu.id], prices.term_s, run_s))
    if rents:
        return min(rents, key=lambda rent: rent.usd_per_h)
    if gpu.id in prices.purchase_usd:
        hours = prices.lifetime_s / 3600 * prices.utilisation
        return Price(prices.purchase_usd[gpu.id] / hours, "your purchase, written off")
    listed = _catalogue().get(gpu.id) if prices.catalogue else None
    if listed is None:
        return None
    of, old = f"{listed['date']}: {listed['source']}", age(listed["date"], date.today())
    return Price(listed["usd_per_h"], f"list, {of}; {old}")


def _reserved(usd_per_h: float, term_s: float, run_s: float | None) -> Price:
    """The price of an hour of use of a GPU that is reserved for whole terms."""
    source = f"yours, reserved for {duration(term_s)}"
    if not run_s:
        return Price(usd_per_h, source)
    terms = ceil(run_s / term_s)
    of = "a whole term" if terms == 1 else f"{terms} terms"
    return Price(usd_per_h * terms * term_s / run_s, f"{source}: {of} for {duration(run_s)} of use")


def age(listed: str, today: date) -> str:
    """The age of a price whose date is a year or a month, or spans several: "up to a year old"."""
    first = listed.split("-")
    year, month = int(first[0]), int(first[1]) if len(first) > 1 and len(first[1]) == 2 else 1
    months = 12 * (today.year - year) + today.month - month
    if months < 1:
        return "this month's"
    if months < 24:
        return f"up to {months} month{'s' if months > 1 else ''} old"
    return f"up to {months // 12} years old"


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_CATALOGUE.read_text("utf-8"))
