"""Sweeps: predictions over the product of axes, as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from math import prod
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from simulator.analysis.shared_parts import SharedParts
from simulator.caches.garbage import MemoryReturn, few_collections
from simulator.errors import InputError
from simulator.prediction import REGIMES, Prediction, Regime
from simulator.scenario.apply import changed_by, checked
from simulator.scenario.predict_many import predict_many
from simulator.scenario.registry import registered
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Applied, Scenario, Value, predict
from simulator.simulate.step_columns import COLUMNS, empty_table, step_row
from simulator.whatif import WhatIf, apply, whatifs
from simulator.whatif.shape import sizes

Predictor = Callable[[Scenario], Prediction]
_return_memory_seldom = MemoryReturn()
_Variant = tuple[ResolvedScenario, tuple[Applied, ...]]
"""A resolved scenario, and the what-ifs that were added."""


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep: the first parameter of a what-if, or a size of the network. `kind` is
    "whole" if only whole numbers are allowed."""

    name: str
    kind: Literal["whole", "scale", "choice"]
    low: float = 1.0
    high: float = 1.0
    unit: str = ""

    def at(self, scenario: Scenario, value: Value) -> Scenario:
        """The scenario at a value of the axis."""
        return apply(scenario, *self._whatif(value))

    def applied(self, value: Value) -> Applied | InputError:
        """The what-if of a value of the axis, or the error for a value that the axis refuses."""
        try:
            return checked(*self._whatif(value))
        except InputError as error:
            return error

    def _whatif(self, value: Value) -> tuple[str, dict[str, Value]]:
        whatif = _whatif_of(self.name)
        if whatif is None:
            return "size", {"parameter": self.name, "value": value}
        return self.name, {whatif.parameters[0].name: value}


def axis(scenario: Scenario, name: str) -> Axis:
    """The axis called `name`. Raises InputError if this network has no such axis."""
    if whatif := _whatif_of(name):
        parameter = whatif.parameters[0]
        if parameter.kind in ("number", "count") and parameter.low is not None:
            kind = "whole" if parameter.kind == "count" else "scale"
            return Axis(name, kind, parameter.low, parameter.high or np.inf, parameter.unit)
        return Axis(name, "choice")
    own_sizes = sizes(resolve(scenario))
    value = own_sizes.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return Axis(name, "whole", 1, 2**31 - 1)
    if name in own_sizes:
        return Axis(name, "choice")
    more = f", or a size of {scenario.network}: {', '.join(own_sizes)}" if own_sizes else ""
    others = sorted(w.name for w in whatifs() if _whatif_of(w.name))
    varied = [w.name for w in whatifs() if w.parameters and w.parameters[0].name == name]
    near = varied or get_close_matches(name, [*others, *own_sizes], 2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise InputError(
        f"no axis {name!r} for {scenario.network}: {hint}expected {', '.join(others)}{more}"
    )


def _whatif_of(name: str) -> WhatIf | None:
    """The what-if that an axis of this name varies; None for a size of the network."""
    whatif = registered(name)
    return whatif if whatif and whatif.parameters and name != "size" else None


class Variants(Sequence[Scenario]):
    """Scenarios that differ in their last what-ifs: `added` holds those of each row. A scenario is
    created on access, since most rows of a large sweep are never accessed."""

    def __init__(self, base: Scenario, added: Sequence[tuple[Applied, ...]]) -> None:
        self._base, self._added = base, added

    @overload
    def __getitem__(self, row: int) -> Scenario: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Scenario]: ...
    def __getitem__(self, row: int | slice) -> Scenario | Sequence[Scenario]:
        if isinstance(row, slice):
            return Variants(self._base, self._added[row])
        return replace(self._base, whatifs=(*self._base.whatifs, *self._added[row]))

    def __len__(self) -> int:
        return len(self._added)


class Points(Sequence[Mapping[str, Value]]):
    """Every combination of the axes' values, the last axis fastest, created on access."""

    def __init__(self, axes: Mapping[str, Sequence[Value]]) -> None:
        self._axes = {name: tuple(values) for name, values in axes.items()}
        self._length = prod(map(len, axes.values()))

    @overload
    def __getitem__(self, row: int) -> Mapping[str, Value]: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Mapping[str, Value]]: ...
    def __getitem__(self, row: int | slice) -> Mapping[str, Value] | Sequence[Mapping[str, Value]]:
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(self._length))]
        rest = range(self._length)[row]
        values: list[Value] = []
        for choices in reversed(self._axes.values()):
            rest, place = divmod(rest, len(choices))
            values.append(choices[place])
        return dict(zip(self._axes, reversed(values), strict=True))

    def __iter__(self) -> Iterator[Mapping[str, Value]]:
        for values in product(*self._axes.values()):
            yield dict(zip(self._axes, values, strict=True))

    def __len__(self) -> int:
        return self._length


@dataclass(frozen=True)
class Sweep:
    """The predictions of scenarios, one row each.

    columns   the columns of `simulator.simulate.step_columns` by name; NaN (regime −1) in rows that
              cannot be predicted
    refused   by row: why it cannot be predicted
    retraced  by row: why it was traced, if no family of traces holds it
    """

    scenarios: Sequence[Scenario]
    points: Sequence[Mapping[str, Value]]
    columns: Mapping[str, NDArray[np.float64]]
    refused: Mapping[int, str]
    retraced: Mapping[int, str] = field(default_factory=dict[int, str])

    def __len__(self) -> int:
        return len(self.scenarios)

    def regime(self, row: int) -> Regime | None:
        number = int(self.columns["regime"][row])
        return REGIMES[number] if number >= 0 else None

    def rows(self) -> list[dict[str, Any]]:
        """The points with their figures, as rows of a table."""
        return [
            {
                **point,
                **{name: float(column[i]) for name, column in self.columns.items()},
                "regime": self.regime(i),
                "refused": self.refused.get(i),
            }
            for i, point in enumerate(self.points)
        ]


@few_collections()
def sweep(
    scenario: Scenario,
    axes: Mapping[str, Sequence[Value]],
    predictor: Predictor = predict,
    counted: Callable[[int], None] = lambda done: None,
) -> Sweep:
    """Predict every combination of the axes' values; the last axis varies fastest.

    If `predictor` is `predict`, all are predicted together, and `counted` is called with the number
    of rows done.
    """
    directions = [axis(scenario, name) for name in axes]
    variants = [(resolve(scenario), ())]
    refused: dict[int, str] = {}
    for line in directions:
        variants, refused = _along(line, axes[line.name], variants, refused)
    resolved, added = [each for each, _ in variants], [whatifs for _, whatifs in variants]
    for row in refused:
        added[row] = ()
    scenarios, points = Variants(scenario, added), Points(axes)
    if predictor is not predict:
        return _one_by_one(scenarios, points, refused, predictor)
    return _at_once(scenarios, resolved, points, refused, counted)


def _along(
    line: Axis, values: Sequence[Value], variants: Sequence[_Variant], refused: Mapping[int, str]
) -> tuple[list[_Variant], dict[int, str]]:
    """Each variant at each value of an axis, and the rows of the result that are refused."""
    steps = [line.applied(value) for value in values]
    shared = SharedParts()
    along: list[_Variant] = []
    reasons: dict[int, str] = {}
    for row, variant in enumerate(variants):
        before, whatifs = variant
        if row in refused:
            reasons |= dict.fromkeys(range(len(along), len(along) + len(steps)), refused[row])
            along += [variant] * len(steps)
            continue
        for place, step in enumerate(steps):
            try:
                if isinstance(step, InputError):
                    raise step
                after = shared.of(place, before, changed_by(step, before))
            except InputError as error:
                reasons[len(along)] = str(error)
                along.append(variant)
                continue
            along.append(variant if after == before else (after, (*whatifs, step)))
    return along, reasons


def sweep_of(scenarios: Iterable[Scenario], predictor: Predictor = predict) -> Sweep:
    """Predict a list of scenarios, one row each."""
    listed = list(scenarios)
    points = tuple({"scenario": i} for i in range(len(listed)))
    if predictor is not predict:
        return _one_by_one(listed, points, {}, predictor)
    refused: dict[int, str] = {}
    resolved: dict[int, ResolvedScenario] = {}
    for row, scenario in enumerate(listed):
        try:
            resolved[row] = resolve(scenario)
        except InputError as error:
            refused[row] = str(error)
    return _at_once(listed, resolved, points, refused)


def _at_once(
    scenarios: Sequence[Scenario],
    resolved: Mapping[int, ResolvedScenario] | Sequence[ResolvedScenario],
    points: Sequence[Mapping[str, Value]],
    refused: dict[int, str],
    counted: Callable[[int], None] = lambda done: None,
) -> Sweep:
    rows = [row for row in range(len(scenarios)) if row not in refused]
    part, why, retraced = predict_many([resolved[row] for row in rows], counted)
    table = empty_table(len(scenarios))
    table[rows] = part
    refused |= {rows[place]: reason for place, reason in why.items()}
    by_row = {rows[place]: reason for place, reason in sorted(retraced.items())}
    _return_memory_seldom()
    return replace(_swept(scenarios, points, refused, table), retraced=by_row)


def _one_by_one(
    scenarios: Sequence[Scenario],
    points: Sequence[Mapping[str, Value]],
    refused: dict[int, str],
    predictor: Predictor,
) -> Sweep:
    table = empty_table(len(scenarios))
    for row, scenario in enumerate(scenarios):
        if row in refused:
            continue
        try:
            table[row] = step_row(predictor(scenario))
        except InputError as error:
            refused[row] = str(error)
    return _swept(scenarios, points, refused, table)


def _swept(
    scenarios: Sequence[Scenario],
    points: Sequence[Mapping[str, Value]],
    refused: dict[int, str],
    table: NDArray[np.float64],
) -> Sweep:
    columns = {name: table[:, i].copy() for i, name in enumerate(COLUMNS)}
    return Sweep(scenarios, points, columns, dict(sorted(refused.items())))
