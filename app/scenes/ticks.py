"""Scales of axes: the position of a value, and the labelled values.

Positions are log2 of factors, so that a doubling is one step; choices are at 0, 1, 2 …
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log2, log10

from app.quantities import plain

Ticks = list[tuple[float, str]]


def place(value: float) -> float:
    """The position of a positive value on a scale of factors."""
    return log2(value)


def factor_ticks(low: float, high: float, most: int = 8) -> Ticks:
    """Powers of two between two positive values, thinned to every n-th power."""
    first, last = ceil(log2(low) - 1e-9), floor(log2(high) + 1e-9)
    step = max(1, ceil((last - first + 1) / most))
    powers = [p for p in range(first, last + 1) if (p - first) % step == 0]
    return [(float(p), plain(2.0**p) if p >= 0 else _fraction(p)) for p in powers]


def _fraction(power: int) -> str:
    return f"{2.0**power:g}"


def decade_ticks(low: float, high: float, most: int = 7) -> Ticks:
    """1, 2 and 5 times powers of ten, positioned by log2; fewer of them over many decades."""
    decades = log10(high / low)
    parts = (1, 2, 5) if decades * 3 <= most else (1, 3) if decades * 2 <= most else (1,)
    step = max(1, ceil(decades / most))
    ticks: Ticks = []
    for power in range(floor(log10(low)), ceil(log10(high)) + 1):
        if parts == (1,) and power % step:
            continue
        for part in parts:
            value = part * 10.0**power
            if low * (1 - 1e-9) <= value <= high * (1 + 1e-9):
                ticks.append((log2(value), plain(float(f"{value:.6g}"))))
    return ticks


def near_ticks(low: float, high: float, most: int = 8) -> Ticks:
    """Round values of an axis that spans at most a few doublings, positioned by log2."""
    return [(log2(v), plain(float(f"{v:.6g}"))) for v in linear_ticks(low, high, most) if v > 0]


def choice_ticks(values: Sequence[object]) -> Ticks:
    """The choices in their order."""
    return [(float(i), str(value)) for i, value in enumerate(values)]


def linear_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values from `low` to `high`, multiples of one step."""
    span = high - low
    if span <= 0:
        return [low]
    raw = span / most
    power = 10.0 ** floor(log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    return [i * step for i in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
