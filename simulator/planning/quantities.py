"""Quantities with their unit in words: "50 ms", "20/s", "2 weeks", "4 USD/h" become SI."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Literal

from simulator.errors import InputError
from simulator.formats.toml import shown

Kind = Literal[
    "time", "rate", "money", "price", "power_price", "power", "count", "share", "bandwidth"
]

_TIMES = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
    "hour": 3600.0, "hours": 3600.0, "day": 86400.0, "days": 86400.0, "week": 604800.0,
    "weeks": 604800.0, "month": 2629800.0, "months": 2629800.0, "year": 31557600.0,
    "years": 31557600.0,
}  # fmt: skip
_COUNTS = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_BANDWIDTHS = {"MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "Gb/s": 1e9 / 8, "Tb/s": 1e12 / 8}
_COUNTED = ("", "request", "requests", "req", "sample", "samples", "image", "images")
"""Units that a rate may count per unit of time: "20 requests/s", "2k images/s"."""
_PER = {"/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600, "/hour": 1 / 3600, "/day": 1 / 86400}
_FORMS: dict[Kind, tuple[str, dict[str, float]]] = {
    "time": ('a time above 0 with its unit, such as "50 ms" or "2 weeks"', _TIMES),
    "rate": ('a rate with its unit, such as "20/s", "2k samples/s" or "3000/h"', _PER),
    "price": ('a price above 0 by the hour, such as "4 USD/h"', {"/h": 1.0, "/hour": 1.0}),
    "money": ('an amount such as "30000 USD"', {"": 1.0}),
    "power_price": ('a price of energy, such as "0.12 USD/kWh"', {"/kWh": 1.0, "/MWh": 1e-3}),
    "power": ('a power such as "700 W"', {"W": 1.0, "kW": 1e3}),
    "bandwidth": ('a bandwidth above 0, such as "50 GB/s" or "400 Gb/s"', _BANDWIDTHS),
    "count": ('a count above 0, such as 1024, "20B" or "1.2M"', _COUNTS),
    "share": ('a share such as 0.3 or "30%"', {"%": 0.01, "": 1.0}),
}
_LARGEST = 1e300
_NUMBER = re.compile(r"\s*(\d+(?:[_,]\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(.*?)\s*", re.IGNORECASE)


def quantity(where: str, value: Any, kind: Kind, currencies: dict[str, float]) -> float:
    """The value of the key `where` in SI units, or in USD if it is money. `currencies` gives the
    USD per unit of each currency. Raises InputError for a value of another kind, an unknown unit,
    or a currency without a rate."""
    expected, units = _FORMS[kind]
    number, unit = _split(value)
    if number is None or (not unit and kind not in ("count", "share")):
        raise InputError(f"{where} = {shown(value)}: expected {expected}; correct it")
    times = 1.0
    if kind in ("price", "money", "power_price"):
        name, slash, per = unit.partition("/")
        name, unit = name.strip(), f"{slash}{per.strip()}"
        if name not in currencies:
            raise InputError(
                f"{where} = {shown(value)}: unknown currency {name!r}: expected one of "
                f"{', '.join(sorted(currencies))}; give its rate as prices.rates.{name} = USD each"
            )
        times = currencies[name]
    unit = unit.replace(" ", "")
    if kind == "rate" and "/" in unit:
        counted, _, per = unit.partition("/")
        scale = counted[:1] if counted[:1] in _COUNTS and counted not in _COUNTED else ""
        if counted.removeprefix(scale) in _COUNTED:
            times, unit = _COUNTS[scale], f"/{per}"
    if unit not in units:
        problem = f"unknown unit {unit!r}" if unit else "no unit"
        raise InputError(
            f"{where} = {shown(value)}: {problem}: expected {expected}; "
            f"known are {', '.join(filter(None, units))}"
        )
    result = number * units[unit] * times
    if not isfinite(result) or result < 0 or (result == 0 and kind not in ("share", "money")):
        raise InputError(f"{where} = {shown(value)}: expected {expected}; correct it")
    if kind == "share" and result > 1:
        raise InputError(
            f"{where} = {shown(value)}: expected a share from 0 to 1; write 0.3 or '30%'"
        )
    return result


def _split(value: Any) -> tuple[float | None, str]:
    if isinstance(value, bool):
        return None, ""
    if isinstance(value, int | float):
        return (float(value) if abs(value) < _LARGEST else None), ""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None, ""
    return float(match[1].replace(",", "").replace("_", "")), match[2]
