"""Sweeps: predictions over the product of axes, as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

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
    """The axis of a name. Raises InputError if this network has no such axis."""
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


@dataclass(frozen=True)
class Sweep:
    """The predictions of scenarios, one row each.

    columns   the columns of `simulator.simulate.step_columns` by name; NaN (regime −1) in rows that
              cannot be predicted
    refused   by row: why it cannot be predicted
    retraced  by row: why it was traced, if no family of traces holds it
    """

    scenarios: Sequence[Scenario]
    points: tuple[Mapping[str, Value], ...]
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
    steps = [[line.applied(value) for value in axes[line.name]] for line in directions]
    added: list[tuple[Applied, ...]] = []
    resolved: dict[int, ResolvedScenario] = {}
    refused: dict[int, str] = {}

    def go(depth: int, before: ResolvedScenario, whatifs: tuple[Applied, ...], why: str) -> None:
        if depth == len(steps):
            if why:
                refused[len(added)] = why
            resolved[len(added)] = before
            added.append(() if why else whatifs)
            return
        for step in steps[depth]:
            after, more, reason = before, whatifs, why
            if not why:
                try:
                    if isinstance(step, InputError):
                        raise step
                    after = changed_by(step, before)
                    more = whatifs if after == before else (*whatifs, step)
                except InputError as error:
                    reason = str(error)
            go(depth + 1, after, more, reason)

    go(0, resolve(scenario), (), "")
    scenarios = Variants(scenario, added)
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    if predictor is not predict:
        return _one_by_one(scenarios, points, refused, predictor)
    return _at_once(scenarios, resolved, points, refused, counted)


def sweep_of(scenarios: Iterable[Scenario], predictor: Predictor = predict) -> Sweep:
    """Predict a list of scenarios, one row each."""
    listed = list(scenarios)
    points = [{"scenario": i} for i in range(len(listed))]
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
    resolved: Mapping[int, ResolvedScenario],
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
    return Sweep(scenarios, tuple(points), columns, dict(sorted(refused.items())))
