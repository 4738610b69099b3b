"""Numbers for people: three digits, the unit that fits, a real minus sign, never an exponent."""

from __future__ import annotations

from math import floor, isfinite, log10

_SI = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


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


def seconds(value: float, digits: int = 3) -> str:
    """A duration, such as "7.93 ms"."""
    scale, unit = seconds_unit(value, digits)
    return f"{number(value / scale, digits)} {unit}"


def seconds_unit(value: float, digits: int = 3) -> tuple[float, str]:
    """The unit in which `value` is from 1 to 999, and its seconds."""
    if value == 0:
        return 1.0, "s"
    shown = float(f"{abs(value):.{digits - 1}e}")
    return next((found for found in _SECONDS if shown >= found[0]), _SECONDS[-1])


def scaled(value: float, unit: str, digits: int = 3) -> str:
    """A quantity with an SI prefix, such as "66.9 TFLOP/s"."""
    power = 0
    while abs(float(f"{value:.{digits - 1}e}")) >= 1000 and power < len(_SI) - 1:
        value, power = value / 1000, power + 1
    return f"{number(value, digits)} {_SI[power]}{unit}"


def data(value: float, digits: int = 3) -> str:
    """Bytes as the allocator and the data sheets count them, such as "420 MiB"."""
    power = 0
    while abs(float(f"{value:.{digits - 1}e}")) >= 1000 and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{number(value, digits)} {_BINARY[power]}"


def percent(share: float) -> str:
    """A share, such as "93%"; "<1%" for one that is there and rounds to nothing."""
    if 0 < share < 0.005:
        return "<1%"
    return f"{100 * share:,.0f}%".replace("-", "−")
