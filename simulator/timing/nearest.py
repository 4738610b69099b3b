"""The nearest neighbours of query points among many points, without a full search.

Query points are grouped into clusters. By the triangle inequality the `count` points nearest to any
member of a cluster lie within d + 2·r of its centre. Here r is the radius of the cluster and d the
distance of the centre's own `count`-th nearest point. Measured shapes lie on grids, so that many
distances are equal: of equally near points the first ones are taken, whatever the machine and the
other query points.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CLUSTER, _WIDE = 64, 16.0  # maximum number of members, and maximum extent along an axis
# squared distances that differ by less than this, for instance by rounding, count as equal
_SAME = 1e-9
_CLOSE = 1e-3
_MANY = 128  # above this number of candidates, a second bound reduces them
# larger squared distances count as equal, so that a distance combined with an index stays below
# 2^53
_FAR = 1e3


class Neighbours:
    """`points` are [points, axes]; a query returns, for each of its points, the `count` nearest of
    `points`."""

    def __init__(self, points: Floats, count: int) -> None:
        self.points = points
        self.count = min(count, len(points))
        self._squares = _squares(points)

    def of(self, points: Floats) -> tuple[Ints, Floats]:
        """The indices of the nearest points, in order, and their distances [points, count]."""
        near = np.empty((len(points), self.count), np.int64)
        squares = np.empty(near.shape)
        for rows in _clusters(points):
            near[rows], squares[rows] = self._nearest(points[rows])
        # these are differences of large numbers: compute them directly
        close = np.nonzero(squares < _CLOSE)
        squares[close] = _squares(points[close[0]] - self.points[near[close]])
        return near, np.sqrt(squares)

    def _nearest(self, members: Floats) -> tuple[Ints, Floats]:
        """The nearest points of one cluster, with the squares of the distances [members, count]."""
        centre = members.mean(axis=0)
        away = members - centre
        squares = self._squares - self.points @ (2 * centre) + centre @ centre
        reach = max(np.partition(squares, self.count - 1)[self.count - 1], 0.0)
        radius = np.sqrt(_squares(away).max())
        near = np.flatnonzero(squares <= (np.sqrt(reach) + 2 * radius) ** 2 * (1 + _SAME) + _SAME)
        others = self.points[near] - centre
        further = (-2 * away) @ others.T
        further += _squares(others)
        further += _squares(away)[:, None]
        order = np.minimum(further, _FAR)
        if near.size > _MANY:
            candidates = self._within_reach(order, squares[near])
            near, further = near[candidates], further[:, candidates]
            order = order[:, candidates]
        order *= 1 / _SAME
        np.rint(order, out=order)
        order *= near.size
        order += np.arange(near.size)
        chosen = np.argpartition(order, self.count - 1, axis=1)[:, : self.count]
        chosen.sort(axis=1)
        return near[chosen], np.take_along_axis(further, chosen, axis=1)

    def _within_reach(self, squares: Floats, from_centre: Floats) -> Ints:
        """Candidates that may be among the `count` nearest of a member, given the squared distances
        of all from each member and from the centre. The `count` points nearest to the centre are
        candidates; any closer point is no further from the member than the furthest of these."""
        nearest = np.argpartition(from_centre, self.count - 1)[: self.count]
        reach = squares[:, nearest].max(axis=1, keepdims=True) + 2 * _SAME
        return np.flatnonzero((squares <= reach).any(axis=0))


def _squares(vectors: Floats) -> Floats:
    return np.einsum("...a,...a->...", vectors, vectors)


def _clusters(points: Floats) -> Iterator[Ints]:
    """Clusters of rows: the points are halved along the widest axis until a cluster is small and
    narrow enough that differences from its centre lose no digits."""
    waiting = [np.arange(len(points))] if len(points) else []
    while waiting:
        rows = waiting.pop()
        members = points[rows]
        widths = np.ptp(members, axis=0)
        widest = int(widths.argmax())
        if rows.size <= _CLUSTER and widths[widest] <= _WIDE:
            yield rows
            continue
        half = np.argpartition(members[:, widest], rows.size // 2)
        waiting += [rows[half[: rows.size // 2]], rows[half[rows.size // 2 :]]]
