"""The geometry of a waterfall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from app.drawing import Box, Role
from app.scenes.pixel_scale import Scale
from app.scenes.waterfall import highest_s

if TYPE_CHECKING:
    from simulator.analysis.compare import Waterfall

_LEFT, _TOP, BOTTOM_PX = 46.0, 28.0, 58.0
_WIDEST, _BAR_SHARE = 104.0, 0.74
_ABOVE = 1.06  # share of the longest time


@dataclass(frozen=True)
class End:
    """The scenario at an end of a waterfall; `letter` is empty if the scenario has no letter."""

    name: str
    colour: Role
    letter: str = ""


@dataclass(frozen=True)
class Frame:
    """A waterfall inside a box. Indices of bars: 0 is the first scenario, then the changes, then
    the last scenario."""

    box: Box
    fall: Waterfall

    @cached_property
    def plot(self) -> Box:
        """The area of the bars."""
        box, high = self.box, self.box.height - _TOP - BOTTOM_PX
        return Box(box.left + _LEFT, box.top + _TOP, box.width - _LEFT, high)

    @property
    def count(self) -> int:
        """The number of bars."""
        return len(self.fall.steps) + 2

    @property
    def room(self) -> float:
        """The width of a bar with its gap."""
        return self.plot.width / self.count

    @cached_property
    def y(self) -> Scale:
        """The time axis, in seconds."""
        return Scale(0.0, _ABOVE * highest_s(self.fall), self.plot.bottom, self.plot.top)

    def column(self, place: int) -> Box:
        """The column of a bar, over the full height of the plot."""
        area, wide = self.plot, min(_WIDEST, _BAR_SHARE * self.room)
        left = area.left + self.room * (place + 0.5) - wide / 2
        return Box(left, area.top, wide, area.height)
