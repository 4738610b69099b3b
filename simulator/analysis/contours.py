"""Lines along which a field on a grid is zero, by marching squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Point = tuple[float, float]


def contour(field: Floats, mask: Floats, xs: Floats, ys: Floats) -> tuple[Floats, ...]:
    """Lines [n, 2] of points (x, y) where `field` [y, x] is zero and `mask` is not negative.

    Interpolation between neighbours is linear, in the logarithm of an axis of positive values.
    Cells with a NaN have no line.
    """
    across, down = _scale(xs), _scale(ys)
    segments: list[tuple[Point, Point]] = []
    for row, column in _crossed(field):
        corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
        values = [float(field[c]) for c in corners]
        cuts: list[Point] = []
        for i in range(4):
            here, there = values[i], values[(i + 1) % 4]
            if (here >= 0) == (there >= 0):
                continue
            share = here / (here - there)
            (r0, c0), (r1, c1) = corners[i], corners[(i + 1) % 4]
            level = float(mask[r0, c0]) * (1 - share) + float(mask[r1, c1]) * share
            if level < -1e-12:
                continue
            cuts.append(
                (
                    float(across[c0] * (1 - share) + across[c1] * share),
                    float(down[r0] * (1 - share) + down[r1] * share),
                )
            )
        segments += zip(cuts[::2], cuts[1::2], strict=False)
    return tuple(_unscaled(line, xs, ys) for line in _chained(segments))


def _crossed(field: Floats) -> list[list[int]]:
    """The cells [row, column] with corners on both sides of zero, none of them NaN."""
    corners = np.stack([field[:-1, :-1], field[:-1, 1:], field[1:, 1:], field[1:, :-1]])
    above = (corners >= 0).sum(axis=0)
    return np.argwhere(np.isfinite(corners).all(axis=0) & (above > 0) & (above < 4)).tolist()


def _scale(values: Floats) -> Floats:
    return np.log(values) if np.all(values > 0) else values


def _unscaled(line: list[Point], xs: Floats, ys: Floats) -> Floats:
    points = np.array(line)
    for place, values in enumerate((xs, ys)):
        if np.all(values > 0):
            points[:, place] = np.exp(points[:, place])
    return points


def _chained(segments: list[tuple[Point, Point]]) -> list[list[Point]]:
    """Join segments that share an end into lines."""
    ends: dict[Point, list[int]] = {}
    for number, segment in enumerate(segments):
        for point in segment:
            ends.setdefault(_near(point), []).append(number)
    free = set(range(len(segments)))
    lines: list[list[Point]] = []
    while free:
        number = min(free)
        free.discard(number)
        line = list(segments[number])
        for _ in range(2):
            while True:
                following = [n for n in ends[_near(line[-1])] if n in free]
                if not following:
                    break
                free.discard(following[0])
                a, b = segments[following[0]]
                line.append(b if _near(a) == _near(line[-1]) else a)
            line.reverse()
        lines.append(line)
    return lines


def _near(point: Point) -> Point:
    return round(point[0], 9), round(point[1], 9)
