"""A design: the combinations of axis values to predict, each created when needed.

A point is the number of a combination; the last axis varies fastest. A random design is a sample of
the same points without repetition, so that no combination is predicted twice.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from random import Random

import numpy as np

from simulator.analysis.sweep import Axis, axis
from simulator.errors import InputError
from simulator.scenario.apply import changed_by, checked
from simulator.scenario.predict_many import Table, predict_many
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Applied, Scenario, Value
from simulator.simulate.step_columns import empty_table
from simulator.whatif import parse

WHATIFS = "whatifs"
"""The axis whose values are what-ifs as commands write them: "none", "+cuda_graph +batch=8"."""
NONE = "none"
MOST_POINTS = 10**15
_FIRST, _LAST = ("network",), ("batch", "seq")

State = tuple[Scenario, ResolvedScenario]


@dataclass(frozen=True)
class Design:
    """The axes of a sweep over a scenario, slowest first, each with its values. `sample` is the
    number of combinations drawn with `seed`; None takes all."""

    scenario: Scenario
    axes: Mapping[str, tuple[Value, ...]]
    sample: int | None = None
    seed: int = 0

    @property
    def combinations(self) -> int:
        """The number of combinations of the axes."""
        return prod(map(len, self.axes.values()))

    @property
    def block(self) -> int:
        """The number of successive points that differ only in batch and sequence; 1 in a sample,
        whose points are far apart."""
        sizes = (len(values) for name, values in self.axes.items() if name in _LAST)
        return prod(sizes) if self.sample is None else 1

    @property
    def points(self) -> Sequence[int]:
        """The points to predict, ascending."""
        return _points(self.combinations, self.sample, self.seed)

    def values(self, point: int) -> dict[str, Value]:
        """The values of the axes at a point."""
        digits: list[Value] = []
        for values in reversed([*self.axes.values()]):
            point, digit = divmod(point, len(values))
            digits.append(values[digit])
        return dict(zip(self.axes, reversed(digits), strict=True))

    @property
    def key(self) -> str:
        """A text that identifies the design: equal for equal designs."""
        axes = {name: list(values) for name, values in self.axes.items()}
        return json.dumps([self.scenario.key, axes, self.sample, self.seed], default=list)


def design(
    scenario: Scenario,
    axes: Mapping[str, Sequence[Value]],
    sample: int | None = None,
    seed: int = 0,
) -> Design:
    """A design with its axes in the order in which predictions are fastest: the network first,
    batch and sequence last. Raises InputError if it has no axis, no combination or too many, or a
    sample larger than the number of combinations."""
    if not axes:
        raise InputError(
            "a design without axes: expected at least one; add an axis, such as batch=1:512"
        )
    for name, values in axes.items():
        if not values:
            raise InputError(f"axis {name!r} has no values: expected at least one; list it")
    order = [n for n in _FIRST if n in axes]
    order += [n for n in axes if n not in (*_FIRST, *_LAST)]
    order += [n for n in _LAST if n in axes]
    whole = Design(scenario, {name: tuple(axes[name]) for name in order}, sample, seed)
    if whole.combinations > MOST_POINTS:
        raise InputError(
            f"the axes have {whole.combinations:.3g} combinations: expected {MOST_POINTS:,} at "
            "most; shorten an axis"
        )
    if sample is not None and not 1 <= sample <= whole.combinations:
        raise InputError(
            f"a sample of {sample:,}: expected 1 to {whole.combinations:,}, the number of "
            "combinations of the axes; correct it"
        )
    return whole


@cache
def _points(combinations: int, sample: int | None, seed: int) -> Sequence[int]:
    if sample is None:
        return range(combinations)
    return sorted(Random(seed).sample(range(combinations), sample))


@dataclass(frozen=True)
class Rows:
    """Predicted points: a table of `step_columns` with a row for each, and the reason for each
    point that cannot be predicted."""

    points: Sequence[int]
    table: Table
    refused: Mapping[int, str]


def predict_points(design: Design, points: Sequence[int]) -> Rows:
    """Predict points of a design together."""
    state: State | str = design.scenario, resolve(design.scenario)
    states: dict[tuple[Value, ...], State | str] = {(): state}
    *leading, last = design.axes
    line = _LastAxis(last, design.axes[last])
    rows: list[int] = []
    settings: list[ResolvedScenario] = []
    refused: dict[int, str] = {}
    before = None
    for row, point in enumerate(points):
        combination, place = divmod(point, len(design.axes[last]))
        if combination != before:
            values, before = design.values(point), combination
            state = _state({name: values[name] for name in leading}, states)
        resolved = state if isinstance(state, str) else line.at(*state, place)
        if isinstance(resolved, str):
            refused[point] = resolved
            continue
        rows.append(row)
        settings.append(resolved)
    table = empty_table(len(points))
    part, reasons, _ = predict_many(settings)
    table[rows] = part
    refused |= {points[rows[place]]: reason for place, reason in reasons.items()}
    return Rows(points, table, dict(sorted(refused.items())))


class _LastAxis:
    """The last axis of a design, which varies from point to point. Its what-ifs are checked once
    for all points, and no `Scenario` is created."""

    def __init__(self, name: str, values: Sequence[Value]) -> None:
        self._name, self._values = name, values
        self._scenario: Scenario | None = None
        self._axis: Axis | None = None
        self._whatifs: dict[int, Applied | InputError] = {}

    def at(
        self, scenario: Scenario, before: ResolvedScenario, place: int
    ) -> ResolvedScenario | str:
        """A scenario, given also as resolved, at the value of this index, or the error of the
        value."""
        try:
            if self._name == WHATIFS:
                return at_value(scenario, before, self._name, self._values[place])[1]
            after = changed_by(self._whatif(scenario, place), before)
        except InputError as error:
            return str(error)
        return before if after == before else after

    def _whatif(self, scenario: Scenario, place: int) -> Applied:
        if self._axis is None or scenario is not self._scenario:
            line = axis(scenario, self._name)  # the sizes of a network are axes, too
            if line != self._axis:
                self._whatifs.clear()
            self._axis, self._scenario = line, scenario
        if place not in self._whatifs:
            self._whatifs[place] = self._axis.applied(self._values[place])
        whatif = self._whatifs[place]
        if isinstance(whatif, InputError):
            raise whatif
        return whatif


def _state(
    values: Mapping[str, Value], states: dict[tuple[Value, ...], State | str]
) -> State | str:
    """The scenario with these values of the leading axes, or the error of a value; cached in
    `states`."""
    names, chosen = list(values), tuple(values.values())
    depth = len(names)
    while chosen[:depth] not in states:
        depth -= 1
    state = states[chosen[:depth]]
    for at in range(depth, len(names)):
        if not isinstance(state, str):
            try:
                state = at_value(*state, names[at], chosen[at])
            except InputError as error:
                state = str(error)
        states[chosen[: at + 1]] = state
    return state


def at_value(scenario: Scenario, before: ResolvedScenario, name: str, value: Value) -> State:
    """A scenario at a value of an axis. Raises InputError if the scenario has no such axis, or the
    value is out of bounds."""
    for step in _whatifs(scenario, name, value):
        if isinstance(step, InputError):
            raise step
        after = changed_by(step, before)
        if after != before:
            scenario, before = replace(scenario, whatifs=(*scenario.whatifs, step)), after
    return scenario, before


def _whatifs(scenario: Scenario, name: str, value: Value) -> Iterator[Applied | InputError]:
    """The what-ifs of an axis's value."""
    if name != WHATIFS:
        yield axis(scenario, name).applied(value)
    elif value != NONE:
        yield from (checked(*parse(word)) for word in _words(f"{value}"))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(
            f"axis {WHATIFS!r}: {text!r}: {error}: expected what-ifs; close the quotation"
        ) from None


def summed(parts: Sequence[Rows]) -> Rows:
    """The rows of several parts combined, in the order of their points."""
    points = np.array([point for part in parts for point in part.points], dtype=np.int64)
    order = np.argsort(points)
    table = np.concatenate([part.table for part in parts]) if parts else empty_table(0)
    refused = {point: reason for part in parts for point, reason in part.refused.items()}
    return Rows(points[order].tolist(), table[order], dict(sorted(refused.items())))
