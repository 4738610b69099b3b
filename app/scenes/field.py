"""A grid interpolated between its points: linear along axes of numbers, blocks for choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.scenes.ticks import place

if TYPE_CHECKING:
    from app.answers.sweeps.axes import AxisValues

Floats = NDArray[np.float64]
FINE = 400
_POINTS = 100


@dataclass(frozen=True)
class MapAxis:
    """An axis of a map. `low` and `high` are its ends as positions, `edges` the borders of its
    fine cells. Fine cell i lies between the values `left[i]` and `left[i] + 1`, at the fraction
    `part[i]` of the way."""

    line: AxisValues
    low: float
    high: float
    edges: Floats
    left: NDArray[np.int64]
    part: Floats

    @property
    def smooth(self) -> bool:
        """Whether values between the points have a meaning."""
        return self.line.numeric and len(self.line.values) > 1


def across(line: AxisValues) -> MapAxis:
    """The axis of the map that shows `line`."""
    count = len(line.values)
    if line.numeric and count > 1:
        at = np.array([place(float(v)) for v in line.values if isinstance(v, int | float)])
        edges = np.linspace(float(at[0]), float(at[-1]), FINE + 1)
        centres = (edges[:-1] + edges[1:]) / 2
        left = np.clip(np.searchsorted(at, centres, side="right") - 1, 0, count - 2)
        part = (centres - at[left]) / (at[left + 1] - at[left])
        return MapAxis(line, float(at[0]), float(at[-1]), edges, left.astype(np.int64), part)
    edges = np.arange(count + 1, dtype=np.float64) - 0.5
    return MapAxis(line, -0.5, count - 0.5, edges, np.arange(count), np.zeros(count))


def fine(grid: Floats, x: MapAxis, y: MapAxis) -> Floats:
    """A grid [y, x] on the fine cells, linear over the two triangles of each cell, so that a level
    is straight between its crossings of the cell's sides. NaN if a corner is NaN."""
    rows, columns = y.left[:, None], x.left[None, :]
    above = np.minimum(rows + 1, grid.shape[0] - 1)
    right = np.minimum(columns + 1, grid.shape[1] - 1)
    u, v = x.part[None, :], y.part[:, None]
    f00, f10 = grid[rows, columns], grid[rows, right]
    f01, f11 = grid[above, columns], grid[above, right]
    near = f00 + u * (f10 - f00) + v * (f01 - f00)
    far = f11 + (1 - u) * (f01 - f11) + (1 - v) * (f10 - f11)
    return np.where(u + v <= 1, near, far)


def fine_of_same(
    grid: Floats, kinds: NDArray[np.int64], kind: NDArray[np.int64], x: MapAxis, y: MapAxis
) -> Floats:
    """A grid [y, x] on the fine cells, with the weights of `fine`. A corner counts only if its
    `kinds` [y, x] equals the `kind` of the cell; 0 where no corner counts."""
    rows, columns = y.left[:, None], x.left[None, :]
    above = np.minimum(rows + 1, grid.shape[0] - 1)
    right = np.minimum(columns + 1, grid.shape[1] - 1)
    u, v = x.part[None, :], y.part[:, None]
    near = u + v <= 1
    weights = (
        (rows, columns, np.where(near, 1 - u - v, 0.0)),
        (rows, right, np.where(near, u, 1 - v)),
        (above, columns, np.where(near, v, 1 - u)),
        (above, right, np.where(near, 0.0, u + v - 1)),
    )
    total, weight = np.zeros(kind.shape), np.zeros(kind.shape)
    for row, column, share in weights:
        same = np.where(kinds[row, column] == kind, share, 0.0)
        total += same * np.nan_to_num(grid[row, column])
        weight += same
    return np.divide(total, weight, out=np.zeros(kind.shape), where=weight > 1e-9)


def middle(inside: NDArray[np.bool_], x: MapAxis, y: MapAxis) -> tuple[float, float] | None:
    """The point of a region farthest from its border, on a grid of about 100 × 100; None for a
    small region."""
    if inside.mean() < 0.03:
        return None
    rows, columns = (_every(count) for count in inside.shape)
    depth = _depth(inside[np.ix_(rows, columns)], 1 / len(rows), 1.4 / len(columns))
    row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
    places = ((x, columns[column]), (y, rows[row]))
    at = [float(axis.edges[i] + axis.edges[i + 1]) / 2 for axis, i in places]
    return at[0], at[1]


def _every(count: int) -> NDArray[np.int64]:
    return np.arange(0, count, max(1, count // _POINTS))


def _depth(inside: NDArray[np.bool_], high: float, wide: float) -> Floats:
    """The square of each cell's distance to the nearest cell that is not inside, or to the grid's
    border. Cells are `high` by `wide`; the distance is taken along each row first, then along each
    column."""
    padded = np.pad(inside, 1)
    at = np.arange(int(padded.shape[1]))
    left = np.maximum.accumulate(np.where(padded, 0, at), axis=1)
    right = np.minimum.accumulate(np.where(padded, at[-1], at)[:, ::-1], axis=1)[:, ::-1]
    across_sq = (wide * np.minimum(at - left, right - at)) ** 2
    down = high * np.arange(len(padded))
    depth = [np.min(across_sq + ((down - each) ** 2)[:, None], axis=0) for each in down]
    return np.array(depth)[1:-1, 1:-1]
