"""Read the values of a plan's keys: lengths, numbers, names and sections, each with its error."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from simulator.errors import InputError
from simulator.formats.toml import shown
from simulator.planning.quantities import quantity
from simulator.planning.spec import MOST_TOKENS, Lengths

_MOST_SIGMA = 4.0  # of log length; with a larger one, the mean is hardly informative
_ALSO = {"ttft": "first_token", "tpot": "per_token", "itl": "per_token", "e2e": "latency"}
"""Names of limits in serving engines, for hints."""


def lengths(where: str, value: Any) -> Lengths:
    if not isinstance(value, Mapping):
        return Lengths("fixed", tokens(where, value))
    keys = cast("Mapping[str, Any]", value)
    if set(keys) == {"low", "high"}:
        low, high = (tokens(f"{where}.{k}", keys[k]) for k in ("low", "high"))
        if low > high:
            raise InputError(
                f"{where}: low {low:g} above high {high:g}: expected low first; swap them"
            )
        return Lengths("uniform", (low + high) / 2, low, high)
    if set(keys) == {"mean", "sigma"}:
        mean, sigma = tokens(f"{where}.mean", keys["mean"]), f"{where}.sigma"
        return Lengths("lognormal", mean, sigma=number(sigma, keys["sigma"], most=_MOST_SIGMA))
    raise InputError(
        f"{where} = {dict(keys)!r}: expected a number, {{low, high}} or {{mean, sigma}}; choose "
        "one, or name a trace as workload.requests_csv"
    )


def tokens(where: str, value: Any) -> float:
    count = quantity(where, value, "count", {})
    if count > MOST_TOKENS:
        raise InputError(
            f"{where} = {shown(value)}: expected {MOST_TOKENS:,} tokens at most; correct it"
        )
    return count


def seed(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise InputError(
            f"simulation.seed = {shown(value)}: expected a whole number from 0; correct it"
        )
    return value


def section(name: str, table: Any) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise InputError(f"{name} = {table!r}: expected a section; write [{name}]")
    return cast("Mapping[str, Any]", table)


def check_amounts(where: str, listed: Mapping[str, Any]) -> None:
    """Raise InputError if an entry is a table; settings for all entries have separate keys."""
    for name, value in listed.items():
        if isinstance(value, Mapping):
            raise InputError(
                f"{where}.{name} is a table: expected the amount alone, as text; give prices.term "
                "for all reservations, and prices.lifetime and prices.utilisation for all purchases"
            )


def check_keys(where: str, table: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in table:
        if name not in names:
            near = [_ALSO[name]] if _ALSO.get(name) in names else get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(
                f"{where}: unknown key {name!r}: {hint}expected {', '.join(names)}; correct it"
            )


def number(where: str, value: Any, most: float = 1e300) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= most:
        upper = f" and at most {most:g}" if most < 1e300 else ""
        raise InputError(f"{where} = {shown(value)}: expected a number above 0{upper}; correct it")
    return float(value)


def words(where: str, value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed or not all(isinstance(x, str) for x in listed):  # pyright: ignore[reportUnknownVariableType]
        raise InputError(
            f'{where} = {_listed(value)}: expected names, such as ["h100", "l40s"]; list them'
        )
    return tuple(dict.fromkeys(listed))  # pyright: ignore[reportUnknownArgumentType]


def one_of(where: str, value: Any, names: tuple[str, ...]) -> None:
    if value not in names:
        known = ", ".join(filter(None, names))
        raise InputError(f"{where} = {shown(value)}: expected one of {known}; choose one")


def _listed(value: Any) -> str:
    """A value as text; a list shows its first entries."""
    if not isinstance(value, list):
        return shown(value)
    entries = [shown(entry) for entry in value[:4]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return f"[{', '.join([*entries, *(['…'] if len(value) > 4 else [])])}]"  # pyright: ignore[reportUnknownArgumentType]
