"""Where the regime changes: the next shift along an axis, and maps over two axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.prediction import REGIMES, Regime
from simulator.scenario import Scenario, Value, predict
from simulator.sweep import Axis, Predict, Sweep, axis, sweep
from simulator.whatif.contours import contour
from simulator.whatif.lines import expecting
from simulator.whatif.setting import setting

_CLOSE = 1e-4  # a crossing of a scale is found to this share of itself
_LARGEST = 65536
_CHEAP = ("batch", "seq", "queue_depth")
_POINTS = 16  # that a search asks at, about


@dataclass(frozen=True)
class Shift:
    """The next change of regime along an axis.

    `last` is the last value found in the regime `before`, `first` the first one in `after`: whole
    numbers are neighbours, scales differ by a ten-thousandth. Without a change up to the axis's
    end `first` and `after` are None, and `reason` says where the search stopped.
    """

    axis: str
    start: float
    last: float
    before: Regime
    first: float | None = None
    after: Regime | None = None
    reason: str = ""

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
    scenario: Scenario, along: str, *, start: float | None = None, down: bool = False,
    limit: float | None = None, answer: Predict = predict,
) -> Shift:  # fmt: skip
    """The first change of regime from `start` on (by default: where the scenario is).

    Steps of a factor of two bracket the change, bisection finds it: a regime that comes and goes
    within one step can be passed over. InputError for an axis without numbers.
    """
    line = axis(scenario, along)
    if line.kind == "choice":
        raise InputError(f"{along} has no order: expected an axis of numbers, such as batch")
    here = _start(scenario, line) if start is None else start
    if line.kind == "whole":
        here = int(here)
    limit = limit or _limit(line, here, down)

    def regime(value: float) -> Regime:
        return answer(line.at(scenario, _value(line, value))).regime

    with expecting(_POINTS if along == "batch" else 1, _POINTS if along == "seq" else 1):
        return _next_shift(line, here, down, limit, regime)


def _next_shift(
    line: Axis, here: float, down: bool, limit: float, regime: Callable[[float], Regime]
) -> Shift:
    along, before = line.name, regime(here)
    last, factor = here, 0.5 if down else 2.0
    while True:
        following = _step(line, last, factor, limit)
        if following == last:
            return Shift(along, here, last, before, reason=f"searched to {last:g}")
        try:
            found = regime(following)
        except InputError as error:
            inner = _end(line, last, following, regime)
            if inner != last and regime(inner) != before:
                following = inner
                break
            return Shift(along, here, inner, before, reason=str(error))
        if found != before:
            break
        last = following
    last, first = _bisect(line, last, following, regime, before)
    return Shift(along, here, last, before, first, regime(first))


def _limit(line: Axis, here: float, down: bool) -> float:
    """Where a search ends unless told: a size of the network is not tried at over 16 times what
    it is, since its trace grows with it."""
    if down:
        return max(line.low, 1e-3)
    return min(line.high, _LARGEST if line.name in _CHEAP or line.kind == "scale" else 16 * here)


def _start(scenario: Scenario, line: Axis) -> float:
    """Where the scenario is on an axis: scales begin at 1, a size at what it is."""
    if line.kind == "scale":
        return 1.0
    ask = setting(scenario).ask
    own = {"batch": ask.batch, "seq": ask.seq}
    if line.name in own:
        from simulator.networks.catalogue import CATALOGUE

        entry = CATALOGUE.get(ask.network)
        return own[line.name] or getattr(entry, line.name, None) or 1
    from simulator.whatif.shape import sizes

    return float(sizes(setting(scenario)).get(line.name, max(line.low, 1)))


def _value(line: Axis, value: float) -> Value:
    return int(value) if line.kind == "whole" else float(value)


def _step(line: Axis, at: float, factor: float, limit: float) -> float:
    following = max(at * factor, limit) if factor < 1 else min(at * factor, limit)
    if line.kind == "whole":
        following = int(following) if factor < 1 else int(np.ceil(following))
    return following if (following < at) == (factor < 1) else at


def _end(line: Axis, good: float, bad: float, regime: Callable[[float], Regime]) -> float:
    """The last value near `bad` that has an answer."""
    while abs(bad - good) > (1 if line.kind == "whole" else _CLOSE * abs(good)):
        middle = _middle(line, good, bad)
        try:
            regime(middle)
            good = middle
        except InputError:
            bad = middle
    return good


def _middle(line: Axis, a: float, b: float) -> float:
    return (int(a) + int(b)) // 2 if line.kind == "whole" else float(np.sqrt(a * b))


def _bisect(
    line: Axis, last: float, first: float, regime: Callable[[float], Regime], before: Regime
) -> tuple[float, float]:
    while abs(first - last) > (1 if line.kind == "whole" else _CLOSE * abs(last)):
        middle = _middle(line, last, first)
        if regime(middle) == before:
            last = middle
        else:
            first = middle
    return last, first


@dataclass(frozen=True)
class Boundary:
    """Where two regimes have equal shares, both above the third: lines of points [n, 2], in the
    axes' own values (for choices, in places 0, 1, 2 …)."""

    between: tuple[Regime, Regime]
    lines: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class RegimeMap:
    """Regimes over two axes. `shares` is [y, x, regime] and `regime` [y, x] the largest (an index
    into REGIMES, −1 where there is no answer); `period_s` [y, x]."""

    x: str
    y: str
    xs: tuple[Value, ...]
    ys: tuple[Value, ...]
    shares: NDArray[np.float64]
    regime: NDArray[np.int64]
    period_s: NDArray[np.float64]
    boundaries: tuple[Boundary, ...]
    refused: tuple[str, ...]


def regime_map(
    scenario: Scenario, x: str, xs: Sequence[Value], y: str, ys: Sequence[Value],
    answer: Predict = predict, counted: Callable[[int], None] = lambda done: None,
) -> RegimeMap:  # fmt: skip
    """The regimes at every pair of values. Shares are interpolated between neighbours, along the
    logarithm of an axis of positive numbers."""
    if x == y:
        raise InputError(f"a map of {x} by {y}: expected two different axes; choose another")
    if not xs or not ys:
        raise InputError("a map without values: expected one value at least on each axis")
    found = sweep(scenario, {y: ys, x: xs}, answer, counted)
    return map_of(found, x, xs, y, ys)


def map_of(found: Sweep, x: str, xs: Sequence[Value], y: str, ys: Sequence[Value]) -> RegimeMap:
    """The map of a sweep over y and x, x fastest."""
    grid = (len(ys), len(xs))
    shares = np.stack([found.columns[r].reshape(grid) for r in REGIMES], axis=-1)
    regime = found.columns["regime"].astype(np.int64).reshape(grid)
    places = _places(xs), _places(ys)
    boundaries: list[Boundary] = []
    for a, b in combinations(range(len(REGIMES)), 2):
        third = shares[:, :, 3 - a - b]
        both = (shares[:, :, a] + shares[:, :, b]) / 2  # they are equal where the line runs
        lines = contour(shares[:, :, a] - shares[:, :, b], both - third, *places)
        if lines:
            boundaries.append(Boundary((REGIMES[a], REGIMES[b]), lines))
    return RegimeMap(
        x, y, tuple(xs), tuple(ys), shares, regime, found.columns["period_s"].reshape(grid),
        tuple(boundaries), tuple(found.refused.values()),
    )  # fmt: skip


def _places(values: Sequence[Value]) -> NDArray[np.float64]:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return np.array(values, float) if numbers else np.arange(len(values), dtype=float)
