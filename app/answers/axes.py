"""Axes as a command writes them: batch, batch=1:512, seq=128:4096:6, gpu=h100,h200.

LOW:HIGH goes by factors, through powers of two for whole numbers unless a number of points is
given; a list is taken as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.analysis.sweep import axis
from simulator.errors import InputError
from simulator.hardware.gpu import gpus
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.registry import value_of
from simulator.scenario.resolved import resolve
from simulator.scenario.scenario import Scenario, Value
from simulator.whatif import whatifs
from simulator.whatif.shape import sizes

if TYPE_CHECKING:
    from simulator.analysis.sweep import Axis

MOST_POINTS = 4096
_POINTS_OF_SCALE = 13
_EXAMPLE = "such as batch=1:512, seq=128:4096:6, gpu=h100,h200"


@dataclass(frozen=True)
class AxisValues:
    """An axis with its values. `numeric` where they are numbers, in order."""

    name: str
    values: tuple[Value, ...]
    unit: str
    numeric: bool
    whole: bool

    @property
    def label(self) -> str:
        """What a plot writes at the axis: "batch, samples", "bandwidth, ×"."""
        name = {"seq": "sequence length", "gpu": "GPU"}.get(self.name, self.name.replace("_", " "))
        name = name[:1].upper() + name[1:]
        return f"{name}, {self.unit}" if self.unit and self.unit != self.name else name


def line(scenario: Scenario, text: str) -> AxisValues:
    """The axis that a text names, with its values. InputError for what it cannot mean."""
    name, equals, values = text.partition("=")
    name = name.strip().removeprefix("+").replace("-", "_")
    found = axis(scenario, name)
    numeric = found.kind != "choice"
    given = _given(text, found, values.strip()) if equals else _usual(scenario, found)
    if not given:
        raise InputError(f"axis {text!r}: no values: expected some, {_EXAMPLE}; give them")
    if len(given) > MOST_POINTS:
        raise InputError(
            f"axis {text!r}: {len(given):,} values: expected {MOST_POINTS:,} at most; give fewer"
        )
    if len(set(given)) < len(given):
        raise InputError(f"axis {text!r}: a value is there twice: expected each once; remove one")
    return AxisValues(name, tuple(given), found.unit, numeric, found.kind == "whole")


def value_on(scenario: Scenario, name: str) -> float | None:
    """Where a scenario is on an axis of numbers: what its last what-if of that name says, or its
    own field; a factor that none set is 1. None where it does not say."""
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


def _given(text: str, found: Axis, values: str) -> list[Value]:
    if found.kind == "choice":
        return [value_of(part.strip()) for part in values.split(",") if part.strip()]
    if ":" in values:
        return _between(text, found, values)
    return sorted(_number(text, found, part) for part in values.split(",") if part.strip())


def _between(text: str, found: Axis, values: str) -> list[Value]:
    parts = values.split(":")
    if len(parts) > 3:
        raise InputError(f"axis {text!r}: expected LOW:HIGH or LOW:HIGH:POINTS, {_EXAMPLE}")
    low, high = (_number(text, found, part) for part in parts[:2])
    points = None
    if len(parts) == 3:
        if not parts[2].strip().isdecimal() or not 2 <= int(parts[2]) <= MOST_POINTS:
            raise InputError(f"axis {text!r}: {parts[2]!r} points: expected 2 to {MOST_POINTS}")
        points = int(parts[2])
    if not 0 < low < high:
        raise InputError(
            f"axis {text!r}: from {low:g} to {high:g}: expected a positive number, then a larger "
            "one; correct it"
        )
    return between(low, high, found.kind == "whole", points)


def between(low: float, high: float, whole: bool, points: int | None = None) -> list[Value]:
    """Values from `low` to `high` by equal factors; whole ones by doubling unless told."""
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


def _number(text: str, found: Axis, part: str) -> float:
    try:
        number = float(part)
    except ValueError:
        raise InputError(
            f"axis {text!r}: {part!r} is no number: expected one, {_EXAMPLE}"
        ) from None
    if found.kind == "whole":
        if not number.is_integer():
            raise InputError(
                f"axis {text!r}: {part} is not whole: expected a whole number; round it"
            )
        number = int(number)
    if not found.low <= number <= found.high:
        raise InputError(
            f"axis {text!r}: {part} is outside: expected {found.low:g} to {found.high:g}; choose "
            "one within"
        )
    return number


def _usual(scenario: Scenario, found: Axis) -> list[Value]:
    """What is swept where only the axis is named: around where the scenario is."""
    if found.kind == "choice":
        return _choices(scenario, found)
    if found.kind == "scale":
        return between(max(found.low, 0.125), min(found.high, 8.0), False)
    here = _here(scenario, found)
    if found.name == "batch":
        return between(1, max(64, 8 * here), True)
    low, high = max(int(found.low), 1, here // 8), 4 * here
    positions = _here(scenario, found, "positions") if found.name == "seq" else 0
    return between(low, max(min(high, positions or high), low + 1), True)


def _choices(scenario: Scenario, found: Axis) -> list[Value]:
    if found.name == "gpu":
        return [card.id for card in gpus()]
    choices = next((w.parameters[0].choices for w in whatifs() if w.name == found.name), ())
    if not choices:
        raise InputError(
            f"axis {found.name!r} has no usual values: expected some, such as {found.name}=A,B"
        )
    return list(choices)


def _here(scenario: Scenario, found: Axis, name: str = "") -> int:
    """Where the scenario is on an axis of whole numbers, or what another of its sizes is; 0 where
    there is none of that name."""
    now = resolve(scenario)
    name = name or found.name
    entry = CATALOGUE.get(now.ask.network)
    if name in ("batch", "seq"):
        default = {"batch": 1, "seq": 128}[name]
        return getattr(now.ask, name) or (entry and getattr(entry, name)) or default
    value = sizes(now).get(name, 0 if name == "positions" else 1)
    return value if isinstance(value, int) else 0
