"""The data of a regime map, computed off the window's thread: field, lines, rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, exp, log
from typing import TYPE_CHECKING

import numpy as np

from app.answers.side import Side
from app.answers.sweeps.axes import AxisValues
from app.answers.sweeps.regime_map import Mapped, mapped_over, outer_axis
from app.answers.sweeps.sweep import shifts
from app.scenes.regime_map.axes import elsewhere, last_level, place_on, unscaled, values
from app.scenes.regime_map.field import MapField, map_field
from app.scenes.sweep.curves import CancelledError, Curve, Curves, value_words
from app.time_left import running
from simulator.analysis.along import Figures
from simulator.analysis.regimes import Shift
from simulator.analysis.sweep import Sweep
from simulator.caches.lru import LRUCache
from simulator.errors import InputError
from simulator.modes import compiles
from simulator.prediction import Regime
from simulator.scenario.scenario import Scenario, Value
from simulator.simulate.step_columns import COLUMNS

if TYPE_CHECKING:
    from app.scenes.field import Floats

_LINES: LRUCache[dict[Value, Sweep]] = LRUCache(4)
"""The lines of slow maps, so that an interrupted map continues."""
Spot = tuple[int, int]
"""A point of a map: its column along x and its row along y."""


@dataclass(frozen=True)
class Chart:
    """A map over two axes. `base` is the same for all scenarios on the map; `times` are lines of
    equal time, `limit` the line where memory is full, `places` the positions of names, `done` is
    True once the map is complete. `refused` is the reason why there is no map."""

    base: str
    x: AxisValues
    y: AxisValues
    level: int
    field: MapField | None = None
    times: tuple[tuple[float, tuple[Floats, ...]], ...] = ()
    limit: tuple[Floats, ...] = ()
    places: tuple[tuple[Regime, tuple[float, float]], ...] = ()
    refused: str = ""
    done: bool = False

    def ends(self) -> dict[str, tuple[float, float]]:
        """The ends of the numeric axes."""
        return {
            line.name: (float(line.values[0]), float(line.values[-1]))  # pyright: ignore
            for line in (self.x, self.y)
            if line.numeric
        }

    def figures(self, spot: Spot) -> dict[str, float]:
        """The columns of simulator.analysis.sweep at a point; NaN where it has no answer."""
        assert self.field is not None
        row = spot[1] * len(self.x.values) + spot[0]
        return {name: float(self.field.mapped.sweep.columns[name][row]) for name in COLUMNS}

    def why(self, spot: Spot) -> str:
        """The reason why a point has no answer."""
        assert self.field is not None
        row = spot[1] * len(self.x.values) + spot[0]
        return self.field.mapped.sweep.refused.get(row, "")

    def spot(self, x: Value | None, y: Value | None) -> Spot | None:
        """The point at two values; None if the map has no such point."""
        if x not in self.x.values or y not in self.y.values:
            return None
        return self.x.values.index(x), self.y.values.index(y)

    def cut(self, spot: Spot, upright: bool) -> Sweep:
        """The row through a point, or the column, as a sweep."""
        assert self.field is not None
        whole, wide = self.field.mapped.sweep, len(self.x.values)
        rows = (
            [spot[0] + wide * i for i in range(len(self.y.values))]
            if upright
            else [spot[1] * wide + i for i in range(wide)]
        )
        return replace(
            whole,
            scenarios=tuple(whole.scenarios[r] for r in rows),
            points=tuple(whole.points[r] for r in rows),
            columns={name: column[rows] for name, column in whole.columns.items()},
            refused={i: whole.refused[r] for i, r in enumerate(rows) if r in whole.refused},
            retraced={},
        )

    def choices(self, spot: Spot, upright: bool) -> list[Choice]:
        """The points along an axis of choices, through a point."""
        line = self.y if upright else self.x
        rows: list[Choice] = []
        for place, value in enumerate(line.values):
            there = (spot[0], place) if upright else (place, spot[1])
            rows.append(Choice(value_words(value), place, self.figures(there), self.why(there)))
        return rows

    def slice(self, side: Side, spot: Spot, upright: bool) -> Curves:
        """The row through a point, or the column, as the curve of a side; for axes of numbers."""
        line, cut = (self.y if upright else self.x), self.cut(spot, upright)
        known = [i for i in range(len(cut)) if i not in cut.refused]
        if not known:
            return Curves(line.name, refused=self.why(spot))
        numbers = np.array(line.values, float)
        columns = {name: column[known] for name, column in cut.columns.items()}
        curve = Curve(side, float(numbers[spot[upright]]), numbers[known], columns)
        return Curves(line.name, line, (curve,), crossings(line, curve))


def crossings(line: AxisValues, curve: Curve) -> tuple[Shift, ...]:
    """Where the largest share changes along a curve, by interpolating both shares linearly in the
    logarithm between the points: accurate enough while a pointer moves."""
    shifts: list[Shift] = []
    for left, right in pairwise(range(curve.values.size)):
        before, after = curve.regime(left), curve.regime(right)
        if before == after:
            continue
        one, other = (curve.columns[before][i] - curve.columns[after][i] for i in (left, right))
        share = float(one / (one - other)) if one != other else 0.5
        low, high = float(curve.values[left]), float(curve.values[right])
        at = exp(log(low) + share * (log(high) - log(low)))
        at = float(min(max(ceil(at), int(low) + 1), int(high))) if line.whole else at
        shifts.append(Shift(line.name, low, low, before, at, after))
    return tuple(shifts)


def charted(
    side: Side,
    names: tuple[str, str],
    level: int,
    cancelled: Callable[[], bool],
    within: dict[str, tuple[float, float]],
) -> Chart:
    """Compute the map of a side over two axes. The lines of a slow map are shown as they become
    available; the map so far has the previous level. Raises CancelledError if cancelled."""

    def counted(done: int) -> None:
        if cancelled():
            raise CancelledError
        if done:
            running().count(done, len(x.values) * len(y.values), "points")

    def so_far(mapped: Mapped) -> None:
        lines = mapped.x if outer is x else mapped.y
        if len(lines.values) > shown:
            part = Chart(base, mapped.x, mapped.y, level - 1)
            running().show(_with_lines(part, map_field(mapped)))

    base = elsewhere(side.scenario, *names)
    x, y = (values(side, name, level, within.get(name)) for name in names)
    outer = outer_axis(x, y)
    shown = 2  # lines that are shown already, or the ends of the axis
    if level:
        shown = len(values(side, outer.name, level - 1, within.get(outer.name)).values)
    counted(0)
    here = {name: place_on(side, name) for name in names}
    try:
        across = y.values if outer is x else x.values
        known = _LINES.get((base, names, across), dict[Value, Sweep])
        scenario = unscaled(side.scenario, *names)
        mapped = mapped_over(scenario, x, y, counted, so_far, here, known)
        field = map_field(mapped)
    except InputError as error:
        return Chart(base, x, y, level, refused=str(error), done=True)
    retraced = bool(field.mapped.sweep.retraced)  # each additional point would need a trace
    counted(0)
    fused = compiles(side.prediction.mode) and level > 0  # each additional point takes some 50 ms
    done = retraced or fused or level >= last_level(names)
    return _with_lines(Chart(base, x, y, level, done=done), field)


def chart_of(mapped: Mapped) -> Chart:
    """The map of the points predicted so far."""
    return _with_lines(Chart("", mapped.x, mapped.y, 0), map_field(mapped))


def _with_lines(chart: Chart, field: MapField) -> Chart:
    """A chart with its field, and the lines and names that follow from it."""
    return replace(
        chart,
        field=field,
        times=tuple(field.equal_times()),
        limit=field.limit(),
        places=tuple(field.places().items()),
    )


@dataclass(frozen=True)
class ExactShifts:
    """The shifts along both axes through a scenario, found by bisection; None if a point on the way
    has no answer."""

    key: str
    shifts: tuple[tuple[Shift, ...], tuple[Shift, ...]] | None


def exact(
    chart: Chart, scenario: Scenario, spot: Spot, cancelled: Callable[[], bool]
) -> ExactShifts:
    """The shifts of `crossings`, exact to the whole number. Raises CancelledError if cancelled."""

    def watch(tried: Mapping[float, Figures]) -> None:
        if cancelled():
            raise CancelledError

    try:
        along, up = (
            shifts(unscaled(scenario, line.name), line, chart.cut(spot, bool(upright)), watch)
            for upright, line in enumerate((chart.x, chart.y))
        )
    except InputError:
        return ExactShifts(scenario.key, None)
    return ExactShifts(scenario.key, (along, up))


@dataclass(frozen=True)
class Choice:
    """A choice on an axis, such as a GPU: its name, its index on the axis, and its columns of
    simulator.analysis.sweep. If it has no columns, `why` is the reason."""

    name: str
    place: int
    figures: Mapping[str, float]
    why: str = ""
