"""The text of a plan's figures: "31.8 ms", "1.1 days (0.94 to 1.27)", "115 million", "5.64 USD"."""

from __future__ import annotations

from typing import NamedTuple

from simulator.formats.numbers import short

Unit = tuple[float, str]
"""The size of a unit, and its name."""

_LONG: tuple[Unit, ...] = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_BRIEF: tuple[Unit, ...] = ((60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_LARGE: tuple[Unit, ...] = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1.0, ""))


def latency(seconds: float, low: float | None = None, high: float | None = None) -> str:
    """Seconds of a step, with the ends of its interval in the same unit if they are given:
    "31.8 ms (26.4 to 37.6)"."""
    return _spanned(seconds, low, high, _BRIEF)


def duration(seconds: float, low: float | None = None, high: float | None = None) -> str:
    """Seconds of a whole run, in the form of `latency`: "1.1 days (0.938 to 1.27)"."""
    return _spanned(seconds, low, high, _LONG)


def amount(count: float) -> str:
    """A count: "4,096", "1.5", "115 million", "20 billion"."""
    if float(count).is_integer() and abs(count) < 1e6:
        return f"{count:,.0f}"
    scale, name = next((unit for unit in _LARGE if count >= unit[0]), _LARGE[-1])
    return f"{short(count / scale)}{name}"


class Currency(NamedTuple):
    """The currency in which a plan is written, and the USD that one unit costs."""

    name: str = "USD"
    usd: float = 1.0

    def of(self, usd: float | None) -> float | None:
        """An amount of USD in this currency."""
        return None if usd is None else usd / self.usd

    def text(self, usd: float) -> str:
        """An amount of USD as text: "41,600 USD", "5.64 EUR", "0.035 USD"."""
        value = usd / self.usd
        if value >= 1000:
            return f"{value:,.0f} {self.name}"
        return (
            f"{value:.2f} {self.name}"
            if round(value, 3) >= 0.1
            else f"{short(value, 2)} {self.name}"
        )


USD = Currency()


def watts(value: float) -> str:
    """Power: "432 W", "11.2 kW"."""
    return f"{short(value)} W" if value < 1e4 else f"{short(value / 1e3)} kW"


def above(name: str, value_s: float, limit_s: float) -> str:
    """A limit that fails: "time per token is 195 ms, above 50 ms"."""
    return f"{name} is {latency(value_s)}, above {latency(limit_s)}"


def _spanned(seconds: float, low: float | None, high: float | None, units: tuple[Unit, ...]) -> str:
    scale, name = next((unit for unit in units if seconds >= unit[0]), units[-1])
    value = short(seconds / scale)
    text = "1 day" if (value, name) == ("1", "days") else f"{value} {name}"
    if low is None or high is None or not low < high:
        return text
    return f"{text} ({short(low / scale)} to {short(high / scale)})"
