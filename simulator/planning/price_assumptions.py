"""The assumptions of a plan about prices and power, and about the host of eager steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simulator.formats.numbers import short
from simulator.hardware.host import host as find_host
from simulator.planning.money import NO_PRICE
from simulator.planning.result import Assumption, Row
from simulator.planning.spec import Spec
from simulator.planning.wording import watts

_NAMED = 3  # GPUs without a price that are listed by name


def of_prices(spec: Spec, row: Row) -> Iterator[Assumption]:
    """The assumptions on the price of each GPU without energy, the cost of the energy of all GPUs,
    the rates of other currencies, the power and the emissions."""
    prices = spec.prices
    money = prices.currency.text
    energy_usd = (row.watts or 0.0) / 1000 * prices.energy_usd_per_kwh
    price = "none"
    if row.usd_per_h is not None:
        price = f"{money((row.usd_per_h - energy_usd) / row.count)} an hour for each GPU"
    yield Assumption("price", price, row.price_source)
    if energy_usd:
        how = f"{money(energy_usd)} an hour for all GPUs"
        yield Assumption("energy", how, f"{money(prices.energy_usd_per_kwh)} per kWh, your spec")
    for name, value in prices.rates_usd.items():
        yield Assumption("exchange rate", f"1 {name} = {value:g} USD", "your spec")
    power = "unknown"
    if row.watts is not None:
        power = f"{watts(row.watts)} for all GPUs, PUE {prices.pue:g} included"
    yield Assumption("power", power, row.power_source)
    if row.co2_g_per_h is not None and prices.co2_g_per_kwh is not None:
        each = f"{prices.co2_g_per_kwh:g} g per kWh, your spec"
        yield Assumption("CO₂", f"{short(row.co2_g_per_h)} g an hour", each)


def of_eager_host(spec: Spec, row: Row) -> Iterator[Assumption]:
    """The assumption on the host that issues the kernels of eager steps."""
    if row.engine == "eager":
        own = spec.workload.host
        source = "your spec" if own else "the default of `ridgepoint hosts`; workload.host sets it"
        yield Assumption("host", find_host(own).cpu, f"{source}; its spread is in the interval")


def of_unpriced(rows: Sequence[Row]) -> list[Assumption]:
    """The assumption about GPUs without a price; empty if all have one."""
    names = list(dict.fromkeys(row.name for row in rows if row.price_source == NO_PRICE))
    if not names:
        return []
    shown = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    how = "ranked by GPU-hours, after GPUs with a price; give their prices as prices.hourly"
    return [Assumption("no price is known for", shown + more, how)]
