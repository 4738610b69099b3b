"""The geometry of a roofline: its plot, its axes and the places of its marks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from app.drawing import Box, Point
from app.scenes.launches import LaunchColumns, LaunchGroup
from app.scenes.pixel_scale import Floats, Scale
from app.scenes.roofline import Ends

_LEFT, _TOP, _BOTTOM, _STRIP, _GUTTER = 52.0, 22.0, 38.0, 114.0, 30.0
_FLAT, _FLAT_BOTTOM, ABOVE_PX = 176.0, 20.0, 14.0
"""A roofline lower than `_FLAT` omits the axis title. Names of ceilings may extend `ABOVE_PX` above
the plot."""
LEAST_PX = 3.2
"""The radius of the smallest mark; larger marks have areas proportional to their shares."""


@dataclass(frozen=True)
class Frame:
    """A roofline of `width` × `height` pixels whose axes span `ends`. `guttered` reserves room at
    the left of the plot for launches without FLOPs."""

    width: float
    height: float
    ends: Ends
    guttered: bool

    @property
    def flat(self) -> bool:
        """Whether there is no room for the axis title."""
        return self.height < _FLAT

    @property
    def strip(self) -> Box:
        """The box of the overhead bar."""
        top = _TOP + 26
        return Box(self.width - _STRIP + 4, top, 16, self.height - top - 14)

    @property
    def gutter(self) -> float:
        """The width reserved for launches without FLOPs."""
        return _GUTTER if self.guttered else 0.0

    @cached_property
    def plot(self) -> Box:
        """The area between the axes."""
        foot = _FLAT_BOTTOM if self.flat else _BOTTOM
        return Box(_LEFT, _TOP, self.width - _STRIP - 12 - _LEFT, self.height - _TOP - foot)

    @property
    def left(self) -> float:
        """The pixel at which the intensity axis begins."""
        return _LEFT + self.gutter

    @cached_property
    def x(self) -> Scale:
        """The axis of intensity."""
        return Scale(*self.ends.x, self.left, self.plot.right, True)

    @cached_property
    def y(self) -> Scale:
        """The axis of FLOP/s."""
        return Scale(*self.ends.y, self.plot.bottom, self.plot.top, True)

    def radius(self, share: float) -> float:
        """The radius of a mark whose area is proportional to a share of the time."""
        return max(LEAST_PX, self._largest * sqrt(share))

    @cached_property
    def _largest(self) -> float:
        """The radius of a mark that takes all of the time."""
        return min(64.0, max(26.0, 0.13 * min(self.plot.width, self.plot.height * 1.4)))

    def place(self, group: LaunchGroup) -> Point:
        """The centre of a mark. Without FLOPs, the mark lies in the gutter, as far below DRAM's
        ceiling as its bytes/s are below DRAM's bandwidth."""
        x, y = self.x, self.y
        if group.flops:
            return x.at(group.intensity), y.at(group.achieved_flops_per_s)
        reached = y.at(group.achieved_bytes_per_s * x.low)
        return self.plot.left + self.gutter / 2, min(reached, self.plot.bottom - 5)

    def places(self, columns: LaunchColumns) -> tuple[Floats, Floats, Floats]:
        """The centres, x and y, and the radii of many marks."""
        x, y = self.x, self.y
        across = np.where(
            columns.computes, x.many(columns.intensity), self.plot.left + self.gutter / 2
        )
        reached = np.minimum(y.many(columns.bytes_per_s * x.low), self.plot.bottom - 5)
        up = np.where(columns.computes, y.many(columns.flops_per_s), reached)
        return across, up, np.maximum(LEAST_PX, self._largest * np.sqrt(columns.share))
