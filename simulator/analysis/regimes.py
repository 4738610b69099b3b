"""Where the regime changes: the next shift along an axis, and maps over two axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.analysis.along import AHEAD, AxisSearch, Figures, Watch, unwatched
from simulator.analysis.contours import contour
from simulator.analysis.regime_leads import PAIRS, RegimeLeads, regime_leads
from simulator.analysis.sweep import Axis, Predictor, Sweep, axis, sweep
from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import REGIMES, Regime
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, Value, predict
from simulator.scenario.traces.families import expecting
from simulator.whatif.shape import sizes

_LARGEST = 65536
_CHEAP = ("batch", "seq", "queue_depth")
_POINTS = 16  # approximate number of points that a search predicts


@dataclass(frozen=True)
class Shift:
    """The next change of regime along an axis.

    `last` is the last value in the regime `before`, `first` the first one in `after`: neighbours if
    they are whole numbers, else 1e-4 apart relative to their size. If the regime does not change up
    to the end of the axis, `first` and `after` are None, and `reason` is where the search stopped.
    `tried` holds the figures of the search by value; `retraced` is the reason for each value that
    was traced because no family of traces holds it.
    """

    axis: str
    start: float
    last: float
    before: Regime
    first: float | None = None
    after: Regime | None = None
    reason: str = ""
    tried: Mapping[float, Figures] = field(default_factory=dict[float, Figures], compare=False)
    retraced: Mapping[float, str] = field(default_factory=dict[float, str], compare=False)

    @property
    def sentence(self) -> str:
        if self.after is None:
            return f"{self.before}-bound from {self.axis} {self.start:g} on ({self.reason})"
        up = self.first is not None and self.first > self.last
        return (
            f"{self.before}-bound {'up' if up else 'down'} to {self.axis} {self.last:g}, then "
            f"{self.after}-bound"
        )


def next_shift(
    scenario: Scenario,
    along: str,
    *,
    start: float | None = None,
    down: bool = False,
    limit: float | None = None,
    predictor: Predictor = predict,
    watch: Watch = unwatched,
) -> Shift:
    """The first change of regime at or after `start` (default: the scenario's own value).

    Steps of a factor of two bracket the change, and a search narrows the bracket: a regime that
    comes and goes within one step can be missed. Values that need no new trace are predicted
    together, and the two values next to the change one by one. `watch` is called with the figures
    tried so far. Raises InputError for an axis without numbers.
    """
    line = axis(scenario, along)
    if line.kind == "choice":
        raise InputError(f"{along} has no order: expected an axis of numbers, such as batch")
    here = _start(scenario, line) if start is None else start
    if line.kind == "whole":
        here = int(here)
    limit = limit or _limit(line, here, down)
    with expecting(_POINTS if along == "batch" else 1, _POINTS if along == "seq" else 1):
        shift = _next_shift(AxisSearch(scenario, line, predictor, watch), here, down, limit)
        if shift is None:  # the two shares are equal up to rounding
            shift = _next_shift(
                AxisSearch(scenario, line, predictor, watch, one_by_one=True), here, down, limit
            )
    assert shift is not None
    return shift


def _next_shift(line: AxisSearch, here: float, down: bool, limit: float) -> Shift | None:
    """The next shift; None if single predictions do not confirm the values predicted together."""
    steps = list(_steps(line.line, here, down, limit))
    line.look([here, *steps[:AHEAD]])
    before, last = line.at(here).regime, here

    def shift(last: float, first: float | None = None, reason: str = "") -> Shift:
        after = None if first is None else line.at(first).regime
        return Shift(
            line.line.name, here, last, before, first, after, reason, line.tried, line.retraced
        )

    for place, following in enumerate(steps):
        if place % AHEAD == 0:
            line.look(steps[place : place + AHEAD])
        try:
            regime = line.at(following).regime
        except InputError as error:
            inner = _last_predicted(line, last, following)
            if inner != last and line.at(inner).regime != before:
                following = inner
                break
            return shift(inner, reason=str(error))
        if regime != before:
            break
        last = following
    else:
        return shift(last, reason=f"searched to {last:g}")
    last, first = line.end(
        last,
        following,
        lambda f: f.regime == before,
        lambda f: f[before] - max(f[r] for r in REGIMES if r != before),
    )
    after = line.at(first).regime
    if (line.confirmed(last).regime, line.confirmed(first).regime) != (before, after):
        return None
    return shift(last, first)


def _limit(line: Axis, here: float, down: bool) -> float:
    """The default end of a search: at most 16 times the value for a size of the network, since the
    trace grows with the size."""
    if down:
        return max(line.low, 1e-3)
    return min(line.high, _LARGEST if line.name in _CHEAP or line.kind == "scale" else 16 * here)


def _start(scenario: Scenario, line: Axis) -> float:
    """The scenario's value on an axis; 1 if the axis is a factor."""
    if line.kind == "scale":
        return 1.0
    request = resolve(scenario).request
    own = {"batch": request.batch, "seq": request.seq}
    if line.name in own:
        entry = CATALOGUE.get(request.network)
        return own[line.name] or getattr(entry, line.name, None) or 1

    return float(sizes(resolve(scenario)).get(line.name, max(line.low, 1)))


def _steps(line: Axis, at: float, down: bool, limit: float) -> Iterator[float]:
    """Values in steps of a factor of two, up or down to the limit."""
    while True:
        following = max(at / 2, limit) if down else min(at * 2, limit)
        if line.kind == "whole":
            following = int(following) if down else int(np.ceil(following))
        if (following >= at) if down else (following <= at):
            return
        yield following
        at = following


def _last_predicted(line: AxisSearch, predicted: float, refused: float) -> float:
    """The last value towards `refused` that can be predicted."""
    while not line.adjoin(predicted, refused):
        middle = line.middle(predicted, refused)
        try:
            line.at(middle)
            predicted = middle
        except InputError:
            refused = middle
    return predicted


@dataclass(frozen=True)
class Boundary:
    """The lines on which two regimes have equal shares that exceed the third one: points [n, 2] in
    values of the axes (for choices, their indices 0, 1, 2 …)."""

    between: tuple[Regime, Regime]
    lines: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class RegimeMap:
    """Regimes over two axes. `shares` is [y, x, regime] and `regime` [y, x] the largest (an index
    into REGIMES, −1 if there is no prediction); `period_s` [y, x]. `leads` are 0 on boundaries."""

    x: str
    y: str
    xs: tuple[Value, ...]
    ys: tuple[Value, ...]
    shares: NDArray[np.float64]
    regime: NDArray[np.int64]
    period_s: NDArray[np.float64]
    leads: RegimeLeads
    boundaries: tuple[Boundary, ...]
    refused: tuple[str, ...]


def regime_map(
    scenario: Scenario,
    x: str,
    xs: Sequence[Value],
    y: str,
    ys: Sequence[Value],
    predictor: Predictor = predict,
    counted: Callable[[int], None] = lambda done: None,
) -> RegimeMap:
    """The regimes at every pair of values. Boundaries are interpolated between neighbours, along
    the logarithm of an axis of positive numbers. Raises InputError if the axes are equal or one of
    them is empty."""
    if x == y:
        raise InputError(f"a map of {x} by {y}: expected two different axes; choose another")
    if not xs or not ys:
        raise InputError("a map without values: expected at least one value on each axis")
    swept = sweep(scenario, {y: ys, x: xs}, predictor, counted)
    return map_of(swept, x, xs, y, ys)


def map_of(sweep: Sweep, x: str, xs: Sequence[Value], y: str, ys: Sequence[Value]) -> RegimeMap:
    """The map of a sweep over y and x, x fastest."""
    grid = (len(ys), len(xs))
    shares = np.stack([sweep.columns[r].reshape(grid) for r in REGIMES], axis=-1)
    regime = sweep.columns["regime"].astype(np.int64).reshape(grid)
    places = _places(xs), _places(ys)
    leads = regime_leads(shares, sweep)
    boundaries: list[Boundary] = []
    for a, b in PAIRS:
        if lines := contour(leads.over[a, b], leads.alone[a, b], *places):
            boundaries.append(Boundary((REGIMES[a], REGIMES[b]), lines))
    return RegimeMap(
        x,
        y,
        tuple(xs),
        tuple(ys),
        shares,
        regime,
        sweep.columns["period_s"].reshape(grid),
        leads,
        tuple(boundaries),
        tuple(sweep.refused.values()),
    )


def _places(values: Sequence[Value]) -> NDArray[np.float64]:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return np.array(values, float) if numbers else np.arange(len(values), dtype=float)
