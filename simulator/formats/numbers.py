"""Numbers as text: significant digits, commas, a true minus sign, no exponent."""

from __future__ import annotations

from math import floor, isfinite, log10

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


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


def data(value: float, digits: int = 3) -> str:
    """Bytes with a binary prefix, such as "420 MiB"."""
    power = 0
    while abs(float(f"{value:.{digits - 1}e}")) >= 1000 and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    if power == 0:
        return f"{value:.0f} B".replace("-", "−")
    return f"{number(value, digits)} {_BINARY[power]}"


def short(value: float, digits: int = 3) -> str:
    """`value` with this many significant digits, without trailing zeros: 20, 5,000, 0.1."""
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text
