"""Sentences and figures about a step's power and energy."""

from __future__ import annotations

from app.quantities import joules, number
from simulator.prediction import Prediction
from simulator.timing.power import Power


def power_sentence(p: Prediction) -> str:
    """The power with its limit, and the clock: "691 W at its limit of 700 W, 1,634 of 1,980 MHz".
    Programs settle slightly below the limit."""
    power = p.power
    if power is None:
        return f"unknown: no power data for {p.gpu.name}"
    return f"{number(power.watts)} W {limit_words(power)}"


def limit_words(power: Power) -> str:
    """The limit and the clock, after a power: "of 700 W, at 1,980 MHz"."""
    limit = f"{number(power.limit_w)} W"
    if is_above_limit(power):
        return f"above its limit of {limit} at the lowest clock, {clocks(power)}"
    if power.limited:
        return f"at its limit of {limit}, {clocks(power)}"
    return f"of {limit}, at {clocks(power)}"


def is_above_limit(power: Power) -> bool:
    """Whether the step draws more than the limit at the lowest clock."""
    return power.watts > power.limit_w * (1 + 1e-9)


def clocks(power: Power) -> str:
    """The clock of a step, with the highest clock if that is higher."""
    highest = f"{power.highest_hz * 1e-6:,.0f} MHz"
    return f"{power.clock_hz * 1e-6:,.0f} of {highest}" if power.limited else highest


def energy_sentence(p: Prediction) -> str:
    """The energy of a step in joules, with its interval, and that of a sample and a token."""
    power = p.power
    if power is None:
        return "unknown"
    low, high = (joules(end, 2) for end in power.joules_interval)
    parts = [f"{joules(power.joules)} a step (80%: {low} to {high})"]
    if p.trace.samples > 1:
        parts.append(f"{joules(power.joules / p.trace.samples)} a sample")
    if p.trace.tokens and p.trace.tokens != p.trace.samples:
        parts.append(f"{joules(power.joules / p.trace.tokens)} a token")
    return ", ".join(parts)


def power_summary(p: Prediction) -> dict[str, object] | None:
    """Power and energy in SI units; None if unknown."""
    power = p.power
    if power is None:
        return None
    tokens = p.trace.tokens
    return {
        "watts": power.watts,
        "limit_w": power.limit_w,
        "limited": power.limited,
        "clock_hz": power.clock_hz,
        "highest_clock_hz": power.highest_hz,
        "joules": power.joules,
        "joules_interval": list(power.joules_interval),
        "joules_per_sample": power.joules / max(p.trace.samples, 1),
        "joules_per_token": power.joules / tokens if tokens else None,
    }
