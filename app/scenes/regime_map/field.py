"""A regime map interpolated between its points."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.scenes.field import Floats, MapAxis, across, fine, fine_of_same, middle
from simulator.analysis.contours import contour
from simulator.prediction import REGIMES, Regime
from simulator.scenario.resolve import resolve

if TYPE_CHECKING:
    from app.answers.sweeps.regime_map import Mapped

_DEEPEST = 0.85  # at this lead and above, the colour is the deepest


@dataclass(frozen=True)
class MapField:
    """A map on fine cells. `shares` is [y, x, regime]; `largest` [y, x] is the index of the largest
    share in REGIMES; `known` is True at points with an answer, `over` at points that need too much
    memory. `need` [y, x], at the map's own points, is the logarithm of the needed memory over the
    GPU's memory."""

    mapped: Mapped
    along: MapAxis
    up: MapAxis
    shares: Floats
    largest: NDArray[np.int64]
    known: NDArray[np.bool_]
    over: NDArray[np.bool_]
    need: Floats

    @property
    def smooth(self) -> bool:
        """Whether both axes have values between their points, so that lines can be drawn."""
        return self.along.smooth and self.up.smooth

    def leads(self) -> Floats:
        """The lead [y, x] of the largest share over the next, from 0 to 1 (at `_DEEPEST` and
        above); 0 if there is no answer."""
        shares, regime = self.mapped.map.shares, self.mapped.map.regime
        ordered = np.sort(shares, axis=-1)
        lead = (ordered[:, :, 2] - ordered[:, :, 1]) / _DEEPEST
        own = fine_of_same(lead, regime, self.largest, self.along, self.up)
        return np.clip(own, 0, 1)

    def inside(self, regime: Regime) -> NDArray[np.bool_]:
        """The cells of a regime."""
        return np.asarray(self.known & (self.largest == REGIMES.index(regime)), np.bool_)

    def places(self) -> dict[Regime, tuple[float, float]]:
        """The position with the most room for each regime's name; small areas have no name."""
        centres: dict[Regime, tuple[float, float]] = {}
        for regime in REGIMES:
            if at := middle(self.inside(regime) & ~self.over, self.along, self.up):
                centres[regime] = at
        return centres

    def equal_times(self) -> list[tuple[float, tuple[Floats, ...]]]:
        """Round times in seconds, each with the lines on which a step takes that time; a line is an
        array [n, 2] of values on both axes."""
        period = self.mapped.map.period_s
        finite = period[np.isfinite(period)]
        if not finite.size or not self.smooth:
            return []
        levels: list[tuple[float, tuple[Floats, ...]]] = []
        with np.errstate(divide="ignore"):
            times = np.log(period)
        for level in _levels(float(finite.min()), float(finite.max())):
            field = times - log(level)
            levels.append((level, contour(field, np.ones_like(field), *self._values())))
        return levels

    def limit(self) -> tuple[Floats, ...]:
        """The lines along which memory is full."""
        if not self.smooth:
            return ()
        return contour(self.need, np.ones_like(self.need), *self._values())

    def _values(self) -> tuple[Floats, Floats]:
        return np.array(self.along.line.values, float), np.array(self.up.line.values, float)


def map_field(mapped: Mapped) -> MapField:
    """The field of a map."""
    along, up = across(mapped.x), across(mapped.y)
    shares = np.stack([fine(mapped.map.shares[:, :, i], along, up) for i in range(3)], axis=-1)
    leads = mapped.map.leads
    largest = leads.largest({pair: fine(over, along, up) for pair, over in leads.over.items()})
    known = np.asarray(np.isfinite(shares).all(axis=-1), np.bool_)
    need = _need(mapped)
    over = np.asarray(fine(need, along, up) > 0, np.bool_)
    return MapField(mapped, along, up, shares, largest, known, over, need)


def _need(mapped: Mapped) -> Floats:
    need = mapped.column("memory_bytes")
    rows = mapped.sweep.scenarios
    varies = {mapped.x.name, mapped.y.name} & {"gpu", "memory"}
    each = [float(resolve(s).gpu.memory_bytes) for s in (rows if varies else rows[:1])]
    has = np.array(each * (1 if varies else len(rows))).reshape(need.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.maximum(need, 1) / has)


def _levels(low: float, high: float) -> list[float]:
    """Round times from `low` to `high`: 1, 2 and 5 times powers of ten, or only the powers over a
    wide range."""
    decades = np.log10(high / low) if low > 0 else 0
    parts = (1, 2, 5) if decades < 3 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    return [p * 10.0**e for e in powers for p in parts if low * 1.04 < p * 10.0**e < high / 1.02]
