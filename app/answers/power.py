"""Sentences and figures about a step's power and energy."""

from __future__ import annotations

from app.quantities import joules, number
from simulator.prediction import Prediction
from simulator.timing.power import Power


def power_sentence(p: Prediction) -> str:
    """The power with its limit, and the clock: "700 W, its limit: 1,634 of 1,980 MHz"."""
    power = p.power
    if power is None:
        return f"unknown: no power data for {p.gpu.name}"
    if power.limited:
        return f"{number(power.watts)} W, its limit: {clocks(power)}"
    return f"{number(power.watts)} W of {number(power.limit_w)} W, at {clocks(power)}"


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
