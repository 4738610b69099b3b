"""The geometry of a sweep: the area of times, the area of shares below it, and their axes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.drawing import Box, Point
from app.scenes.pixel_scale import Floats, Scale
from app.scenes.sweep.scene import SweepScene

_LEFT, _TITLED_LEFT, _RIGHT, _TOP, _GAP, _BOTTOM, _FLAT_BOTTOM = (
    52.0,
    70.0,
    18.0,
    22.0,
    30.0,
    44.0,
    24.0,
)
_FLAT = 190.0
"""A sweep lower than this omits the axis title."""
_TIMES = 0.62  # share of the height


@dataclass(frozen=True)
class Frame:
    """A sweep inside a box; `titled` names the axes of time and of shares."""

    scene: SweepScene
    box: Box
    titled: bool = False

    @property
    def flat(self) -> bool:
        """Whether there is no room for the axis title."""
        return self.box.height < _FLAT

    @property
    def _room(self) -> float:
        return self.box.height - _TOP - _GAP - (_FLAT_BOTTOM if self.flat else _BOTTOM)

    @cached_property
    def top(self) -> Box:
        """The area of times."""
        left = _TITLED_LEFT if self.titled else _LEFT
        wide = self.box.width - left - _RIGHT
        return Box(self.box.left + left, self.box.top + _TOP, wide, _TIMES * self._room)

    @cached_property
    def below(self) -> Box:
        """The area of shares."""
        top = self.top
        return Box(top.left, top.bottom + _GAP, top.width, self._room - top.height)

    @cached_property
    def x(self) -> Scale:
        """The axis of values."""
        values = self.scene.curves[0].values
        low, high = float(values[0]), float(values[-1])
        low, high = (low, high) if high > low else (low / 2, 2 * high)
        return Scale(low, high, self.top.left, self.top.right, True)

    @cached_property
    def y(self) -> Scale:
        """The axis of times, in seconds."""
        columns = [
            curve.columns[name]
            for curve in self.scene.curves
            for name in ("low_s", "high_s", "period_s")
        ]
        columns.append(np.array([p.seconds for c in self.scene.curves for p in c.measured]))
        times = np.concatenate([column[column > 0] for column in columns])
        times = times if times.size else np.array([1e-3, 1.0])
        low, high = float(times.min()), float(times.max())
        slack = 1.5 if high < 3 * low else 1.25
        return Scale(low / slack, high * slack, self.top.bottom, self.top.top, True)

    @property
    def shifts(self) -> list[float]:
        """The pixels of the regime shifts."""
        return [self.x.at(shift.first) for shift in self.scene.shifts if shift.first is not None]


def pairs(xs: Floats, ys: Floats) -> list[Point]:
    """Two columns as points."""
    return list(zip(xs.tolist(), ys.tolist(), strict=True))
