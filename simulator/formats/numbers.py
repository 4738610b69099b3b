"""Numbers as text: significant digits, commas, a true minus sign, no exponent."""

from __future__ import annotations

from math import floor, isfinite, log10


def number(value: float, digits: int = 3) -> str:
    """`value` with this many significant digits: 0.0123, 7.93, 1,240."""
    if not isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "unknown"
    if value == 0:
        return "0"
    places = digits - 1 - floor(log10(abs(value)))
    value = round(value, places)
    if value and floor(log10(abs(value))) > digits - 1 - places:  # 9.996 became 10.0
        places -= 1
    return f"{value:,.{max(0, places)}f}".replace("-", "−")


def short(value: float, digits: int = 3) -> str:
    """`value` with this many significant digits, without trailing zeros: 20, 5,000, 0.1."""
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text
