"""Format numbers: three digits, a fitting unit, a true minus sign, no exponent."""

from __future__ import annotations

import re
from math import isfinite

from simulator.formats.numbers import data as data
from simulator.formats.numbers import number as number
from simulator.formats.numbers import short

_SI = ("", "k", "M", "G", "T", "P", "E")
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LONG = (
    (730 * 86400.0, 365 * 86400.0, "years"),
    (48 * 3600.0, 86400.0, "days"),
    (7200.0, 3600.0, "h"),
    (120.0, 60.0, "min"),
)
"""Longer units: the minimum number of seconds for which a unit is used, its length in seconds, and
its name.
"""


def plain(value: float) -> str:
    """A number with the fewest digits that represent it, without an exponent if possible."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    return short(value, 5)


def trimmed(text: str) -> str:
    """Drop the zeros after a decimal point: "16.0 GiB" becomes "16 GiB"."""
    return re.sub(r"(\.\d*?)0+(?=\D|$)", lambda m: "" if m[1] == "." else m[1], text)


def seconds(value: float, digits: int = 3) -> str:
    """A duration, such as "7.93 ms"."""
    scale, unit = seconds_unit(value, digits)
    return f"{number(value / scale, digits)} {unit}"


def signed_seconds(value: float, digits: int = 3) -> str:
    """A change of a duration: "+1.20 ms", "−340 µs"."""
    return ("+" if value > 0 else "") + seconds(value, digits)


def seconds_unit(value: float, digits: int = 3) -> tuple[float, str]:
    """The seconds and the name of the unit in which `value` is 1 to 999; minutes start at 2 min."""
    if value == 0 or not isfinite(value):
        return 1.0, "s"
    shown = float(f"{abs(value):.{digits - 1}e}")
    for least, scale, unit in _LONG:
        if shown >= least:
            return scale, unit
    return next((fitting for fitting in _SECONDS if shown >= fitting[0]), _SECONDS[-1])


def joules(value: float, digits: int = 3) -> str:
    """An energy, such as "28.8 J" or "1.75 mJ"."""
    shown = float(f"{abs(value):.{digits - 1}e}") if isfinite(value) else 1.0
    for least, unit in ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ")):
        if shown >= least:
            return (
                scaled(value / least, unit, digits)
                if least == 1.0
                else (f"{number(value / least, digits)} {unit}")
            )
    return f"{number(value * 1e9, digits)} nJ"


def between(low_s: float, high_s: float, of_s: float, digits: int = 2) -> str:
    """An interval in the unit of its point estimate: "4.7 to 5.3"."""
    scale, _ = seconds_unit(of_s, digits)
    return f"{number(low_s / scale, digits)} to {number(high_s / scale, digits)}"


def scaled(value: float, unit: str, digits: int = 3) -> str:
    """A quantity with an SI prefix, such as "66.9 TFLOP/s"."""
    power = 0
    while abs(float(f"{value:.{digits - 1}e}")) >= 1000 and power < len(_SI) - 1:
        value, power = value / 1000, power + 1
    return f"{number(value, digits)} {_SI[power]}{unit}"


def count_of(value: float, unit: str) -> str:
    """A rate, such as "1,360 samples/s"."""
    return f"{number(value)} {unit}".strip() if value < 1e6 else scaled(value, unit)


def percent(share: float) -> str:
    """A share, such as "93%"; "<1%" for a positive share that rounds to 0."""
    if 0 < share < 0.005:
        return "<1%"
    return f"{100 * share:,.0f}%".replace("-", "−")


def change(before: float, after: float) -> str:
    """A relative change: "−59%", "+3%", "0%"; "2.4×" for a doubling or more."""
    if not before:
        return "0%" if not after else "new"
    ratio = after / before
    if ratio >= 2:
        return f"{number(ratio, 2)}×"
    share = ratio - 1
    if abs(share) < 0.0005:
        return "0%"
    digits = 1 if abs(share) < 0.01 or -1 < share < -0.995 else 0
    return f"{100 * share:+.{digits}f}%".replace("-", "−")


def faster(before: float, after: float) -> str:
    """A ratio of times as text: "1.92 times faster", "1.30 times slower", "as fast"."""
    if not before or not after or abs(after / before - 1) < 0.0005:
        return "as fast"
    ratio = before / after
    if ratio < 1:
        return f"{number(1 / ratio)} times slower"
    return f"{number(ratio)} times faster"


def cut(text: str, width: int) -> str:
    """Shorten a text to at most `width` characters."""
    return text if len(text) <= width else text[: width - 1] + "…"
