"""The geometry of a timeline: its rows and its time axes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor

from app.drawing import Box
from app.scenes.pixel_scale import Scale

_LEFT, _RIGHT = 84.0, 14.0
PINNED_PX = 26.0
"""The height of a pinned lane with the gap below it."""


@dataclass(frozen=True)
class Rows:
    """The boxes of the rows, from top to bottom; `overview` is empty if it is not drawn."""

    overview: Box
    outer: Box
    inner: Box
    host: Box
    gpu: Box
    pinned: tuple[Box, ...] = ()

    @property
    def area(self) -> Box:
        """Everything below the overview."""
        top = self.pinned[0].top if self.pinned else self.outer.top
        return Box.between(self.outer.left, top, self.gpu.right, self.gpu.bottom)


@dataclass(frozen=True)
class Frame:
    """A timeline of `width` × `height` pixels: `span` is the visible time range, and `whole_s` the
    length of the step, in seconds. `pinned` is the number of pinned lanes."""

    width: float
    height: float
    span: tuple[float, float]
    whole_s: float
    overview: bool = True
    pinned: int = 0

    @cached_property
    def rows(self) -> Rows:
        """The rows. The arrows get the remaining space between host and GPU, up to the height they
        need."""
        wide = self.width - _LEFT - _RIGHT
        whole = Box(_LEFT, 8, wide, 24 if self.height >= 250 else 18)
        if not self.overview:
            whole = Box(_LEFT, 0, wide, 0)
        first = whole.bottom + 26
        pinned = [Box(_LEFT, first + PINNED_PX * at, wide, 22) for at in range(self.pinned)]
        outer = Box(_LEFT, first + PINNED_PX * self.pinned + 6 * bool(pinned), wide, 15)
        inner = Box(_LEFT, outer.bottom + 1, wide, 15)
        host = Box(_LEFT, inner.bottom + 4, wide, 19)
        lane = min(56.0, max(24.0, 0.2 * self.height))
        below = self.height - 10 - lane
        top = min(below, host.bottom + max(24.0, min(140.0, 0.34 * self.height)))
        gpu = Box(_LEFT, ceil(top), wide, floor(lane))
        return Rows(whole, outer, inner, host, gpu, tuple(pinned))

    @cached_property
    def x(self) -> Scale:
        """The time axis of the visible range."""
        return Scale(*self.span, _LEFT, self.width - _RIGHT)

    @property
    def whole(self) -> Scale:
        """The time axis of the overview."""
        return Scale(0.0, self.whole_s, _LEFT, self.width - _RIGHT)
