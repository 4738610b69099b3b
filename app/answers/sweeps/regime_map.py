"""A regime map of a scenario over two axes, with the sweep behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.analysis.regimes import map_of
from simulator.analysis.sweep import sweep
from simulator.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from app.answers.sweeps.axes import AxisValues
    from simulator.analysis.regimes import RegimeMap
    from simulator.analysis.sweep import Sweep
    from simulator.scenario.scenario import Scenario


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
) -> Mapped:
    """Predict every pair of values; `counted` receives the number of points done.

    Raises InputError if both axes are the same, or if no point has an answer.
    """
    if x.name == y.name:
        raise InputError(f"a map of {x.name} by {y.name}: expected two axes; choose another")
    swept = sweep(scenario, {y.name: y.values, x.name: x.values}, counted=counted)
    if len(swept.refused) == len(swept):
        raise InputError(f"no point of the map has an answer: {swept.refused[0]}")
    return Mapped(x, y, map_of(swept, x.name, x.values, y.name, y.values), swept)
