"""A scenario along an axis of numbers: its figures at many values, and where a property of them
ends. Values that families of traces answer, or one trace all of them, are found at once; the
others one by one."""

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
from simulator.simulate.step_columns import COLUMN_INDEX, step_row

CLOSE = 1e-4  # the end of a scale's stretch is found to this share of itself
AHEAD = 4  # values that a search asks at once before it goes on
_BESIDE = 0.03
"""How far from where an end is expected to look, in parts of the stretch that it is in."""


@dataclass(frozen=True)
class Figures:
    """What a sweep says of one point: a row of `simulator.simulate.step_columns`, by name."""

    row: tuple[float, ...]

    @staticmethod
    def of(p: Prediction) -> Figures:
        """Those of a prediction."""
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
"""By how much something holds: about 0 where it ends."""
Watch = Callable[[Mapping[float, Figures]], None]


def unwatched(tried: Mapping[float, Figures]) -> None:
    """Nobody is told what was tried."""


class Along:
    """A scenario along `line`. `tried` are the figures found so far by value, of which `watch` is
    told; `retraced` says why a value took a trace of its own, where no family answered. Only
    `predict` is asked at many values at once, and not if `one_by_one`."""

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

    def there(self, value: float) -> Scenario:
        """The scenario at a value."""
        return self.line.at(self.scenario, self._value(value))

    def at(self, value: float) -> Figures:
        """The figures at a value. InputError where it has none."""
        if value in self._refused:
            raise InputError(self._refused[value])
        if value not in self.tried:
            self.forward(value)
        return self.tried[value]

    def forward(self, value: float) -> Prediction:
        """The prediction at a value, whatever was found before. InputError where it has none."""
        scenario = self.there(value)
        p = self._predictor(scenario)
        self.tried[value] = Figures.of(p)
        sized = self._own and self.line.name in ("batch", "seq")
        if sized and (reason := why_traced(resolve(scenario))):
            self.retraced[value] = reason
        self._looked.discard(value)
        self._watch(self.tried)
        return p

    def confirmed(self, value: float) -> Figures:
        """The figures of a prediction of its own at a value."""
        if value in self._looked:
            self.forward(value)
        return self.at(value)

    def first(self, values: Sequence[float], stops: Callable[[Figures], bool]) -> float | None:
        """The first of some values at which something is so, asked a few at a time; None where it
        is at none of them."""
        for begin in range(0, len(values), AHEAD):
            some = values[begin : begin + AHEAD]
            self.look(some)
            for value in some:
                if stops(self.at(value)):
                    return value
        return None

    def look(self, values: Iterable[float]) -> None:
        """Find the figures at those of some values for which nothing is to be traced."""
        if not self._many:
            return
        found: dict[float, ResolvedScenario] = {}
        for value in values:
            try:
                if value not in self.tried and value not in self._refused:
                    there = resolve(self.there(value))
                    if self._untraced(there):
                        found[value] = there
            except InputError:  # which is raised again where the value is asked for
                continue
        if len(found) < 2:
            return
        table, refused, _ = predict_many(list(found.values()))
        for row, value in enumerate(found):
            if row in refused:
                self._refused[value] = refused[row]
            else:
                self.tried[value] = Figures(tuple(table[row].tolist()))
                self._looked.add(value)
        self._watch(self.tried)

    def _untraced(self, there: ResolvedScenario) -> bool:
        if there.speeds or there.rates != Rates():
            return False
        return family(there) is not None or trace_key(there) == trace_key(resolve(self.scenario))

    def end(self, last: float, first: float, holds: Holds, margin: Margin) -> tuple[float, float]:
        """The neighbours between which something ends that holds at `last`, not at `first`. It is
        looked for on both sides of where it ends if the margin goes evenly, and halfway where that
        did not help."""
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
        """The values on both sides of where the margin is gone if it goes evenly."""
        ends = margin(self.at(last)), margin(self.at(first))
        part = ends[0] / (ends[0] - ends[1]) if ends[0] > 0 >= ends[1] else 0.5
        found: dict[float, None] = {}
        for each in (part - _BESIDE, part + _BESIDE):
            value = last * (first / last) ** each
            if self.line.kind == "whole":
                value = float(np.floor(value) if each < part else np.ceil(value))
            if min(last, first) < value < max(last, first):
                found[value] = None
        return list(found)

    def adjoin(self, a: float, b: float) -> bool:
        """Is nothing between two values worth asking?"""
        return abs(a - b) <= (1 if self.line.kind == "whole" else CLOSE * min(abs(a), abs(b)))

    def middle(self, a: float, b: float) -> float:
        """The value between two."""
        return (int(a) + int(b)) // 2 if self.line.kind == "whole" else float(np.sqrt(a * b))

    def _value(self, value: float) -> Value:
        return int(value) if self.line.kind == "whole" else float(value)
