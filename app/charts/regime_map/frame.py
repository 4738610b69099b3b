"""The geometry of a regime map: the pixels of positions, points and fine cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.drawing import Box, Metrics, Point
from app.scenes.field import Floats, MapAxis
from app.scenes.regime_map.field import MapField
from app.scenes.regime_map.scene import Chart, Spot
from app.scenes.ticks import place

_LEFT, _TOP, _RIGHT, _BOTTOM, LEGEND_PX = 56.0, 30.0, 10.0, 44.0, 26.0


@dataclass(frozen=True)
class Frame:
    """A map inside a box; `plot` is the area between the axes."""

    chart: Chart
    field: MapField
    box: Box
    plot: Box

    def pixel_at(self, x: float, y: float) -> Point:
        """The pixel of a position on both axes."""
        along, up, area = self.field.along, self.field.up, self.plot
        return (
            area.left + (x - along.low) / (along.high - along.low) * area.width,
            area.bottom - (y - up.low) / (up.high - up.low) * area.height,
        )

    def pixel(self, spot: Spot) -> Point:
        """The pixel of a point of the map."""
        x, y = positions(self.field.along)[spot[0]], positions(self.field.up)[spot[1]]
        return self.pixel_at(float(x), float(y))

    def placed(self, line: Floats) -> list[Point]:
        """The pixels of a line that is given as values of the axes [n, 2]."""
        return [self.pixel_at(place(x), place(y)) for x, y in line.tolist()]

    def nearest(self, x: float, y: float) -> Spot:
        """The point nearest to a pixel."""
        along, up, area = self.field.along, self.field.up, self.plot
        across = along.low + (x - area.left) / area.width * (along.high - along.low)
        upward = up.low + (area.bottom - y) / area.height * (up.high - up.low)
        return (
            int(np.argmin(np.abs(positions(along) - across))),
            int(np.argmin(np.abs(positions(up) - upward))),
        )

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """The fine cell [y, x] of the field at a pixel, or None outside the plot."""
        area = self.plot
        if not area.holds(x, y):
            return None
        rows, columns = self.field.largest.shape
        across, up = (x - area.left) / area.width, (area.bottom - y) / area.height
        return min(int(up * rows), rows - 1), min(int(across * columns), columns - 1)


def frame_of(chart: Chart, box: Box, metrics: Metrics) -> Frame | None:
    """The geometry of a map; None if it has no field."""
    if chart.field is None:
        return None
    left = _LEFT
    if not chart.field.up.smooth:
        left = min(12 + max(metrics.width(str(v)) for v in chart.y.values), 0.4 * box.width)
    wide, high = box.width - left - _RIGHT, box.height - _TOP - _BOTTOM - LEGEND_PX
    plot = Box(box.left + left, box.top + _TOP, wide, high)
    return Frame(chart, chart.field, box, plot)


def positions(axis: MapAxis) -> Floats:
    """The positions of an axis's points."""
    values = axis.line.values
    if not axis.smooth:
        return np.arange(len(values), dtype=np.float64)
    return np.array([place(float(v)) for v in values if isinstance(v, int | float)])
