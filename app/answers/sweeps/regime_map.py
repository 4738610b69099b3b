"""A regime map of a scenario over two axes, with the sweep behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from app.answers.sweeps.in_parts import from_outside, in_parts, is_slow
from simulator.analysis.regimes import map_of
from simulator.analysis.sweep import Sweep, sweep
from simulator.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from app.answers.sweeps.axes import AxisValues
    from simulator.analysis.regimes import RegimeMap
    from simulator.scenario.scenario import Scenario, Value


_CHOICES_AT_ONCE = 8


@dataclass(frozen=True)
class Mapped:
    """A regime map with the sweep behind it."""

    x: AxisValues
    y: AxisValues
    map: RegimeMap
    sweep: Sweep

    def column(self, name: str) -> NDArray[np.float64]:
        """A column of the sweep as a grid, [y, x]."""
        return self.sweep.columns[name].reshape(len(self.y.values), len(self.x.values))


def mapped_over(
    scenario: Scenario,
    x: AxisValues,
    y: AxisValues,
    counted: Callable[[int], None] = lambda done: None,
    so_far: Callable[[Mapped], None] | None = None,
    here: Mapping[str, object] = MappingProxyType({}),
    known: dict[Value, Sweep] | None = None,
) -> Mapped:
    """Predict every pair of values; `counted` receives the number of points done.

    With `so_far`, the lines of a slow map are predicted one after another, beginning with the line
    through `here`, a mapping from axes to values. `so_far` receives the map over the lines
    predicted so far; `known` holds lines of an earlier call by their value, and receives the new
    ones.

    Raises InputError if both axes are the same, or if no point has an answer.
    """
    if x.name == y.name:
        raise InputError(
            f"a map of {x.name} by {y.name}: expected two different axes; choose another"
        )
    axes = {y.name: y.values, x.name: x.values}
    if so_far is None or not is_slow(scenario, axes):
        swept = sweep(scenario, axes, counted=counted)
    else:
        outer = outer_axis(x, y)
        inner = y if outer is x else x
        at = here.get(outer.name)
        place = next((i for i, value in enumerate(outer.values) if value == at), None)

        def show(part: Sweep, lines: tuple[int, ...]) -> None:
            some = replace(outer, values=tuple(outer.values[i] for i in lines))
            so_far(_mapped(x, some, part) if outer is y else _turned(some, y, part))

        swept = in_parts(
            scenario,
            {outer.name: outer.values, inner.name: inner.values},
            from_outside(len(outer.values), place),
            lambda: counted(0),
            show,
            at_once=1 if outer.numeric else _CHOICES_AT_ONCE,
            known=known,
        )
        if outer is x:
            swept = _turned(x, y, swept).sweep
    if len(swept.refused) == len(swept):
        raise InputError(f"no point of the map has an answer: {swept.refused[0]}")
    return _mapped(x, y, swept)


def _mapped(x: AxisValues, y: AxisValues, swept: Sweep) -> Mapped:
    return Mapped(x, y, map_of(swept, x.name, x.values, y.name, y.values), swept)


def outer_axis(x: AxisValues, y: AxisValues) -> AxisValues:
    """The axis of a slow map whose lines are predicted one after another. Points that differ only
    in their mode share work, and so do points of one GPU."""
    if "gpu" in (x.name, y.name):
        return x if x.name == "gpu" else y
    return x if x.numeric and not y.numeric else y


def _turned(x: AxisValues, y: AxisValues, columns: Sweep) -> Mapped:
    """The map of a sweep whose axis y varies fastest."""
    high, wide = len(y.values), len(x.values)
    rows = [column * high + row for row in range(high) for column in range(wide)]
    place = {before: after for after, before in enumerate(rows)}
    swept = Sweep(
        [columns.scenarios[row] for row in rows],
        [columns.points[row] for row in rows],
        {name: column[rows] for name, column in columns.columns.items()},
        {place[row]: text for row, text in columns.refused.items()},
        {place[row]: text for row, text in columns.retraced.items()},
    )
    return _mapped(x, y, swept)
