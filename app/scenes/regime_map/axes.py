"""The axes offered for a regime map: their names, their values, and the value of a side."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from app.answers.answer import batch_and_seq
from app.answers.side import Side
from app.answers.sweeps.axes import AxisValues, between, value_on
from app.answers.sweeps.axes import line as line_of
from app.scenes.sweep.curves import lacking
from simulator.scenario.file_stamps import file_stamps
from simulator.scenario.gpu_class import modified_ns
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, Value
from simulator.whatif import whatifs

_POINTS = {"batch": (None, 32, 56), "seq": (None, 24, 36)}
_SCALE = (7, 20, 20)
"""Largest number of points of an axis at each level; None stands for doublings. Batches have more
points than sequences because they need fewer traces; a scale has few points because some scales are
predicted one point at a time.
"""
FINEST = 2
_CHOICES = ("gpu", "mode", "precision")
_FIELDS: dict[str, Value | None] = {"batch": None, "seq": None, "gpu": "h200", "mode": "eager"}


def offered(side: Side) -> list[str]:
    """The axes of a side: batch, sequence, every what-if that scales a rate, and choices."""
    scenario = side.scenario
    whole = [] if scenario.trace_file else ["batch"]
    lacks = lacking(scenario, "seq") or place_on(side, "seq") is None
    whole += [] if scenario.trace_file or lacks else ["seq"]
    choices = [name for name in _CHOICES if not (scenario.trace_file and name == "precision")]
    return [*whole, *_scales(), *choices]


@cache
def _scales() -> tuple[str, ...]:
    first = [(w.name, w.parameters[0]) for w in whatifs() if w.parameters]
    return tuple(name for name, p in first if p.kind == "number" and p.low and p.unit == "×")


def usual(names: list[str]) -> tuple[str, str]:
    """The default axes of those offered: batch by sequence, or the closest that the network has."""
    first = [name for name in ("batch", "seq", "host_speed", "bandwidth") if name in names]
    return first[0], first[1]


def last_level(names: tuple[str, str]) -> int:
    """The finest level of a map over two axes; higher levels add no points."""
    return FINEST if set(names) == {"batch", "seq"} else 1


def place_on(side: Side, name: str) -> Value | None:
    """The value of a side on an axis; None if the side has no value there."""
    p, trace = side.prediction, side.prediction.trace
    if name in ("gpu", "mode"):
        return {"gpu": p.gpu.id, "mode": p.mode}[name]
    if name == "precision":
        resolved = resolve(side.scenario)
        return None if resolved.request.saved else resolved.request.dtype
    value = value_on(side.scenario, name)
    if value is None and name in ("batch", "seq"):
        value = batch_and_seq(side.scenario)[name == "seq"]
        per_sample = (trace.tokens or 0) // max(1, trace.samples)
        value = value or (trace.samples if name == "batch" else per_sample) or None
    return value if value is None or not float(value).is_integer() else int(value)


def elsewhere(scenario: Scenario, *names: str) -> str:
    """A key that is the same for scenarios that differ only in their values on these axes. It
    changes when a file that the scenario reads is edited."""
    others = tuple(a for a in scenario.whatifs if a.name not in names)
    fields = {name: _FIELDS[name] for name in names if name in _FIELDS}
    key = replace(scenario, whatifs=others, **fields).key  # pyright: ignore[reportArgumentType]
    return f"{key} {modified_ns(scenario.network)} {file_stamps(scenario)}"


def unscaled(scenario: Scenario, *names: str) -> Scenario:
    """The scenario without its own factors on these axes. The values of an axis replace them,
    whereas what-ifs of the same name multiply."""
    scales = {name for name in names if name in _scales()}
    others = tuple(a for a in scenario.whatifs if a.name not in scales)
    return scenario if others == scenario.whatifs else replace(scenario, whatifs=others)


def values(
    side: Side, name: str, level: int, within: tuple[float, float] | None = None
) -> AxisValues:
    """An axis with its values, more at each level, including the side's value. `within` are the
    ends to keep as long as the side's value lies between them.
    """
    along = line_of(side.scenario, name)
    own = place_on(side, name)
    if not along.numeric:
        return (
            along
            if own is None or own in along.values
            else (replace(along, values=(own, *along.values)))
        )
    ends = float(along.values[0]), float(along.values[-1])  # pyright: ignore[reportArgumentType]
    low, high = within or ends
    place = float(own) if isinstance(own, int | float) else None
    if place is not None and not low <= place <= high:
        low, high = min(ends[0], place), max(ends[1], place)
    points = _POINTS.get(name, _SCALE)[level]
    doubled = between(low, high, True) if along.whole else []  # frequent choices
    each = {
        float(v)
        for v in (*doubled, *between(low, high, along.whole, points))
        if isinstance(v, int | float)
    }
    each |= {place} if place is not None else set()
    ordered = sorted(each)
    return replace(along, values=tuple(int(v) if along.whole else v for v in ordered))
