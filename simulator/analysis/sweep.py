"""Many scenarios at once: predictions over the product of some axes, as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.prediction import REGIMES, Prediction, Regime
from simulator.scenario.apply import apply_resolved
from simulator.scenario.predict_many import predict_many
from simulator.scenario.registry import registered
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Scenario, Value, predict
from simulator.simulate.step_columns import COLUMNS, empty_table, step_row
from simulator.whatif import WhatIf, apply, whatifs
from simulator.whatif.shape import sizes

Predictor = Callable[[Scenario], Prediction]


@dataclass(frozen=True)
class Axis:
    """A direction in which a scenario can be changed: a what-if's first number or choice, or a
    size of the network. `whole` where only whole numbers have a meaning."""

    name: str
    kind: Literal["whole", "scale", "choice"]
    low: float = 1.0
    high: float = 1.0
    unit: str = ""

    def at(self, scenario: Scenario, value: Value) -> Scenario:
        """The scenario at a value of the axis."""
        return apply(scenario, *self._whatif(value))

    def within(
        self, scenario: Scenario, before: ResolvedScenario, value: Value
    ) -> tuple[Scenario, ResolvedScenario]:
        """The scenario, whose setting is known, at a value of the axis, with its setting."""
        return apply_resolved(scenario, before, *self._whatif(value))

    def _whatif(self, value: Value) -> tuple[str, dict[str, Value]]:
        found = _whatif_of(self.name)
        if found is None:
            return "size", {"parameter": self.name, "value": value}
        return self.name, {found.parameters[0].name: value}


def axis(scenario: Scenario, name: str) -> Axis:
    """The axis of a name; InputError where it means nothing for this network."""
    if whatif := _whatif_of(name):
        parameter = whatif.parameters[0]
        if parameter.kind in ("number", "count") and parameter.low is not None:
            kind = "whole" if parameter.kind == "count" else "scale"
            return Axis(name, kind, parameter.low, parameter.high or np.inf, parameter.unit)
        return Axis(name, "choice")
    known = sizes(resolve(scenario))
    value = known.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return Axis(name, "whole", 1, 2**31 - 1)
    if name in known:
        return Axis(name, "choice")
    more = f", or a size of {scenario.network}: {', '.join(known)}" if known else ""
    others = ", ".join(sorted(w.name for w in whatifs() if _whatif_of(w.name)))
    raise InputError(f"no axis {name!r} for {scenario.network}: expected {others}{more}")


def _whatif_of(name: str) -> WhatIf | None:
    """The what-if along which an axis of this name runs; a size of the network has none."""
    found = registered(name)
    return found if found and found.parameters and name != "size" else None


@dataclass(frozen=True)
class Sweep:
    """One row a scenario. Times in seconds, memory in bytes; NaN (and −1 as the regime) where a
    scenario has no answer, for the reason in `refused`.

    columns  by name: period_s, latency_s, gpu_busy_s, host_s, low_s, high_s, compute, memory,
             overhead (shares), samples_per_s, peak_memory_bytes, memory_bytes (with the
             libraries' workspace: what has to fit), fits, regime; joules of a step and the
             clock_hz that the power limit leaves, NaN where nothing is known of a card
    retraced by row: why a trace of its own was taken, where no family of traces answered
    """

    scenarios: tuple[Scenario, ...]
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
        """Each point with its figures, for a table."""
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
    """Every combination of the axes' values, the last axis fastest. Where `predictor` is `predict`
    they are answered at once, and `counted` is told how many are done."""
    found = [axis(scenario, name) for name in axes]
    scenarios: list[Scenario] = []
    settings: dict[int, ResolvedScenario] = {}
    refused: dict[int, str] = {}

    def go(depth: int, each: Scenario, before: ResolvedScenario, why: str) -> None:
        if depth == len(found):
            if why:
                refused[len(scenarios)] = why
            settings[len(scenarios)] = before
            scenarios.append(scenario if why else each)
            return
        for value in axes[found[depth].name]:
            there, after, reason = each, before, why
            if not why:
                try:
                    there, after = found[depth].within(each, before, value)
                except InputError as error:
                    reason = str(error)
            go(depth + 1, there, after, reason)

    go(0, scenario, resolve(scenario), "")
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    if predictor is not predict:
        return _one_by_one(scenarios, points, refused, predictor)
    return _at_once(scenarios, settings, points, refused, counted)


def sweep_of(scenarios: Iterable[Scenario], predictor: Predictor = predict) -> Sweep:
    """A list of scenarios, one row each."""
    listed = list(scenarios)
    points = [{"scenario": i} for i in range(len(listed))]
    if predictor is not predict:
        return _one_by_one(listed, points, {}, predictor)
    refused: dict[int, str] = {}
    settings: dict[int, ResolvedScenario] = {}
    for row, each in enumerate(listed):
        try:
            settings[row] = resolve(each)
        except InputError as error:
            refused[row] = str(error)
    return _at_once(listed, settings, points, refused)


def _at_once(
    scenarios: Sequence[Scenario],
    settings: Mapping[int, ResolvedScenario],
    points: Sequence[Mapping[str, Value]],
    refused: dict[int, str],
    counted: Callable[[int], None] = lambda done: None,
) -> Sweep:

    rows = [row for row in range(len(scenarios)) if row not in refused]
    part, why, retraced = predict_many([settings[row] for row in rows], counted)
    table = empty_table(len(scenarios))
    table[rows] = part
    refused |= {rows[place]: reason for place, reason in why.items()}
    own = {rows[place]: reason for place, reason in sorted(retraced.items())}
    return replace(_swept(scenarios, points, refused, table), retraced=own)


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
    return Sweep(tuple(scenarios), tuple(points), columns, dict(sorted(refused.items())))
