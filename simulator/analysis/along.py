"""Search along a numeric axis: predict figures at many values, and locate where a property ends.

Values that need no new trace are predicted together, the others one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.analysis.sweep import Axis, Predictor
from simulator.errors import InputError
from simulator.prediction import REGIMES, Prediction, Regime
from simulator.scenario.predict_many import predict_many, why_traced
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import Rates, ResolvedScenario
from simulator.scenario.scenario import Scenario, Value, predict
from simulator.scenario.trace_source import family, trace_key
from simulator.scenario.traces.families import without_fits
from simulator.simulate.step_columns import COLUMN_INDEX, step_row

CLOSE = 1e-4  # relative precision of the end of a range, on axes of real numbers
AHEAD = 4  # values that a search predicts together
_BESIDE = 0.03
"""Values on either side of the expected end are tried at this distance, as a share of the range."""


@dataclass(frozen=True)
class Figures:
    """The figures of one point: a row of `simulator.simulate.step_columns`, by name."""

    row: tuple[float, ...]

    @staticmethod
    def of(p: Prediction) -> Figures:
        """The figures of a prediction."""
        return Figures(step_row(p))

    def __getitem__(self, name: str) -> float:
        return self.row[COLUMN_INDEX[name]]

    @property
    def regime(self) -> Regime:
        return REGIMES[int(self["regime"])]

    @property
    def fits(self) -> bool:
        return bool(self["fits"])


Holds = Callable[[Figures], bool]
Margin = Callable[[Figures], float]
"""The margin by which a property holds: about 0 where it ends."""
Watch = Callable[[Mapping[float, Figures]], None]


def unwatched(tried: Mapping[float, Figures]) -> None:
    """A `Watch` that does nothing."""


class AxisSearch:
    """A search along `line`.

    tried       the figures so far, by value; `watch` is called with them
    retraced    by value: why it was traced, if no family of traces holds it
    one_by_one  predict values one by one, as is always done if `predictor` is not `predict`
    """

    def __init__(
        self,
        scenario: Scenario,
        line: Axis,
        predictor: Predictor = predict,
        watch: Watch = unwatched,
        one_by_one: bool = False,
    ) -> None:
        self.scenario, self.line = scenario, line
        self.tried: dict[float, Figures] = {}
        self.retraced: dict[float, str] = {}
        self._predictor, self._watch = predictor, watch
        self._own = predictor is predict
        self._many = self._own and not one_by_one
        self._refused: dict[float, str] = {}
        self._looked: set[float] = set()

    def scenario_at(self, value: float) -> Scenario:
        """The scenario at a value."""
        return self.line.at(self.scenario, self._value(value))

    def at(self, value: float) -> Figures:
        """The figures at a value. Raises InputError if it cannot be predicted."""
        if value in self._refused:
            raise InputError(self._refused[value])
        if value not in self.tried:
            self.forward(value)
        return self.tried[value]

    def forward(self, value: float) -> Prediction:
        """Predict at a value, even if it was tried before. Raises InputError if it cannot be
        predicted."""
        scenario = self.scenario_at(value)
        p = self._predictor(scenario)
        self.tried[value] = Figures.of(p)
        sized = self._own and self.line.name in ("batch", "seq")
        if sized and (reason := why_traced(resolve(scenario))):
            self.retraced[value] = reason
        self._looked.discard(value)
        self._watch(self.tried)
        return p

    def confirmed(self, value: float) -> Figures:
        """The figures at a value, from a single prediction even if it was predicted together with
        others."""
        if value in self._looked:
            self.forward(value)
        return self.at(value)

    def first(self, values: Sequence[float], stops: Callable[[Figures], bool]) -> float | None:
        """The first of these values at which `stops` is true, or None; values are tried a few at a
        time. A family is fitted only for a value that no earlier one makes needless."""
        for begin in range(0, len(values), AHEAD):
            part = values[begin : begin + AHEAD]
            for place, value in enumerate(part):
                if value not in self.tried:
                    with without_fits():
                        self.look(part[place:])
                if stops(self.at(value)):
                    return value
        return None

    def look(self, values: Iterable[float]) -> None:
        """Predict together those values that need no new trace."""
        if not self._many:
            return
        untraced: dict[float, ResolvedScenario] = {}
        for value in values:
            try:
                if value not in self.tried and value not in self._refused:
                    resolved = resolve(self.scenario_at(value))
                    if self._is_untraced(resolved):
                        untraced[value] = resolved
            except InputError:  # raised again by `at`
                continue
        if len(untraced) < 2:
            return
        table, refused, _ = predict_many(list(untraced.values()))
        for row, value in enumerate(untraced):
            if row in refused:
                self._refused[value] = refused[row]
            else:
                self.tried[value] = Figures(tuple(table[row].tolist()))
                self._looked.add(value)
        self._watch(self.tried)

    def _is_untraced(self, resolved: ResolvedScenario) -> bool:
        """Whether no new trace is needed to predict a resolved scenario."""
        if resolved.speeds or resolved.rates != Rates():
            return False
        same_trace = trace_key(resolved) == trace_key(resolve(self.scenario))
        return family(resolved) is not None or same_trace

    def end(self, last: float, first: float, holds: Holds, margin: Margin) -> tuple[float, float]:
        """The two neighbouring values between which a property ends. It holds at `last` and not at
        `first`.

        Tries both sides of the end expected from the margin, then the middle if that did not help.
        """
        helped = True
        while not self.adjoin(last, first):
            whole = abs(np.log(first / last))
            halfway = self.middle(last, first)
            expected = self._expected(last, first, margin) if helped else [halfway]
            self.look(expected)
            known = [v for v in expected if v in self.tried]
            for value in known or [halfway]:
                if not holds(self.at(value)):
                    first = value
                    break
                last = value
            helped = bool(known) and abs(np.log(first / last)) < whole / 2
        return last, first

    def _expected(self, last: float, first: float, margin: Margin) -> list[float]:
        """The two values around the zero of the margin, if the margin is linear in the
        logarithm."""
        ends = margin(self.at(last)), margin(self.at(first))
        part = ends[0] / (ends[0] - ends[1]) if ends[0] > 0 >= ends[1] else 0.5
        values: dict[float, None] = {}
        for share in (part - _BESIDE, part + _BESIDE):
            value = last * (first / last) ** share
            if self.line.kind == "whole":
                value = float(np.floor(value) if share < part else np.ceil(value))
            if min(last, first) < value < max(last, first):
                values[value] = None
        return list(values)

    def adjoin(self, a: float, b: float) -> bool:
        """Whether two values are neighbours: consecutive whole numbers, or real numbers within the
        relative precision."""
        return abs(a - b) <= (1 if self.line.kind == "whole" else CLOSE * min(abs(a), abs(b)))

    def middle(self, a: float, b: float) -> float:
        """The value halfway between two, on a logarithmic scale for real numbers."""
        return (int(a) + int(b)) // 2 if self.line.kind == "whole" else float(np.sqrt(a * b))

    def _value(self, value: float) -> Value:
        return int(value) if self.line.kind == "whole" else float(value)
