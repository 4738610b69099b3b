"""Parse axes of the command line: batch, batch=1:512, seq=128:4096:6, gpu=h100,h200.

LOW:HIGH is spaced by equal factors: doublings for whole numbers, unless a number of points is
given. A list gives the values themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.printable import short
from simulator.analysis.sweep import axis
from simulator.errors import InputError
from simulator.hardware.gpu import gpus
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.resolve import check_network, gpu_of, resolve
from simulator.scenario.scenario import Scenario, Value
from simulator.scenario.text.whatif import value_of
from simulator.whatif import whatifs
from simulator.whatif.shape import sizes

if TYPE_CHECKING:
    from simulator.analysis.sweep import Axis

MOST_POINTS = 4096
_POINTS_OF_SCALE = 13
_EXAMPLE = "such as batch=1:512, seq=128:4096:6, gpu=h100,h200"


@dataclass(frozen=True)
class AxisValues:
    """An axis with its values; `numeric` if they are ordered numbers."""

    name: str
    values: tuple[Value, ...]
    unit: str
    numeric: bool
    whole: bool

    @property
    def label(self) -> str:
        """The title of the axis in a plot: "Batch, samples", "Bandwidth, ×"."""
        name = {"seq": "sequence length", "gpu": "GPU"}.get(self.name, self.name.replace("_", " "))
        name = name[:1].upper() + name[1:]
        return f"{name}, {self.unit}" if self.unit and self.unit != self.name else name


def line(scenario: Scenario, text: str) -> AxisValues:
    """Parse an axis with its values. Raises InputError if the text is not an axis."""
    name, equals, listed = text.partition("=")
    name = axis_name(name)
    axis_ = axis(scenario, name)
    numeric = axis_.kind != "choice"
    values = _values(text, axis_, listed.strip()) if equals else _usual(scenario, axis_)
    if not values:
        raise InputError(
            f"axis {short(text)!r}: no values: expected at least one, {_EXAMPLE}; add one"
        )
    if len(values) > MOST_POINTS:
        raise InputError(
            f"axis {short(text)!r}: {len(values):,} values: expected at most "
            f"{MOST_POINTS:,}; remove some"
        )
    if len(set(values)) < len(values):
        raise InputError(
            f"axis {short(text)!r}: duplicate value: expected each value once; remove one"
        )
    return AxisValues(name, tuple(values), axis_.unit, numeric, axis_.kind == "whole")


def axis_name(text: str) -> str:
    """The name of an axis as a person writes it: "+host-speed" is host_speed."""
    return text.strip().removeprefix("+").replace("-", "_")


def check_choices(axis_: Axis, values: Iterable[Value]) -> None:
    """Raise InputError, with similar names, for a value that no scenario accepts: a value of
    another type, or an unknown name. A value that only some scenarios accept passes.
    """
    for value in values:
        applied = axis_.applied(value)
        if isinstance(applied, InputError):
            raise InputError(f"axis {axis_.name!r}: {applied}")
        if axis_.name == "gpu":
            gpu_of(f"{value}")
        elif axis_.name == "network":
            check_network(f"{value}")


def value_on(scenario: Scenario, name: str) -> float | None:
    """The value of a scenario on a numeric axis.

    It comes from the last what-if of that name, else from the field; a factor that nothing sets is
    1. None if the scenario leaves it open.
    """
    size = [
        a.arguments["value"]
        for a in scenario.whatifs
        if a.name == "size" and a.arguments.get("parameter") == name
    ]
    own = [
        next(iter(a.arguments.values())) for a in scenario.whatifs if a.name == name and a.arguments
    ]
    value = (size or own or [getattr(scenario, name, None)])[-1]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return 1.0 if axis(scenario, name).kind == "scale" else None


def _values(text: str, axis_: Axis, values: str) -> list[Value]:
    if axis_.kind == "choice":
        listed = [value_of(part.strip()) for part in values.split(",") if part.strip()]
        check_choices(axis_, listed)
        return listed
    if ":" in values:
        return _between(text, axis_, values)
    return sorted(_number(text, axis_, part) for part in values.split(",") if part.strip())


def _between(text: str, axis_: Axis, values: str) -> list[Value]:
    parts = values.split(":")
    if len(parts) > 3:
        raise InputError(f"axis {short(text)!r}: expected LOW:HIGH or LOW:HIGH:POINTS, {_EXAMPLE}")
    low, high = (_number(text, axis_, part) for part in parts[:2])
    points = None
    if len(parts) == 3:
        word = parts[2].strip()
        points = int(word) if word.isdecimal() and len(word) <= len(f"{MOST_POINTS}") else 0
        if not 2 <= points <= MOST_POINTS:
            raise InputError(
                f"axis {short(text)!r}: {short(parts[2])!r} points: expected 2 to {MOST_POINTS}"
            )
    if not 0 < low < high:
        raise InputError(
            f"axis {short(text)!r}: from {low:g} to {high:g}: expected a positive number, "
            "then a larger one; correct it"
        )
    return between(low, high, axis_.kind == "whole", points)


def between(low: float, high: float, whole: bool, points: int | None = None) -> list[Value]:
    """Values from `low` to `high` by equal factors; whole numbers by doubling if `points` is
    None."""
    if whole and points is None:
        values = [low]
        while values[-1] * 2 < high:
            values.append(values[-1] * 2)
        return [int(v) for v in (*values, high)]
    count = points or _POINTS_OF_SCALE
    each = [low * (high / low) ** (i / (count - 1)) for i in range(count)]
    each[-1] = high
    if whole:
        return sorted({round(v) for v in each})
    return [float(f"{v:.6g}") for v in each]


def _number(text: str, axis_: Axis, part: str) -> float:
    try:
        number = float(part)
    except ValueError:
        raise InputError(
            f"axis {short(text)!r}: {short(part)!r} is not a number: expected one, {_EXAMPLE}"
        ) from None
    if axis_.kind == "whole":
        if not number.is_integer():
            raise InputError(
                f"axis {short(text)!r}: {short(part)}: expected a whole number; round it"
            )
        number = int(number)
    if not axis_.low <= number <= axis_.high:
        raise InputError(
            f"axis {short(text)!r}: {short(part)}: expected {axis_.low:,.10g} to "
            f"{axis_.high:,.10g}; correct it"
        )
    return number


def _usual(scenario: Scenario, axis_: Axis) -> list[Value]:
    """The default values of an axis: around the scenario's own value."""
    if axis_.kind == "choice":
        return _choices(scenario, axis_)
    if axis_.kind == "scale":
        return between(max(axis_.low, 0.125), min(axis_.high, 8.0), False)
    own = _own_value(scenario, axis_)
    if axis_.name == "batch":
        return between(1, max(64, 8 * own), True)
    low, high = max(int(axis_.low), 1, own // 8), 4 * own
    positions = _own_value(scenario, axis_, "positions") if axis_.name == "seq" else 0
    return between(low, max(min(high, positions or high), low + 1), True)


def _choices(scenario: Scenario, axis_: Axis) -> list[Value]:
    if axis_.name == "gpu":
        return [card.id for card in gpus()]
    choices = next((w.parameters[0].choices for w in whatifs() if w.name == axis_.name), ())
    if not choices:
        raise InputError(
            f"axis {axis_.name!r} has no default values: expected values, such as {axis_.name}=A,B"
        )
    return list(choices)


def _own_value(scenario: Scenario, axis_: Axis, name: str = "") -> int:
    """The scenario's value on an axis of whole numbers, or of the size `name`; 0 if unknown."""
    now = resolve(scenario)
    name = name or axis_.name
    entry = CATALOGUE.get(now.request.network)
    if name in ("batch", "seq"):
        default = {"batch": 1, "seq": 128}[name]
        return getattr(now.request, name) or (entry and getattr(entry, name)) or default
    value = sizes(now).get(name, 0 if name == "positions" else 1)
    return value if isinstance(value, int) else 0
