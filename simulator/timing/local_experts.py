"""A Gaussian process over many points as local experts, each solved beforehand.

A Gaussian process over thousands of points computes thousands of covariances for each predicted
point. Here the measured points are divided into cells, and each cell has an expert over the points
of the cell and those nearest to them (Snelson and Ghahramani, "Local and global sparse Gaussian
process approximations", 2007). The weights of an expert, the inverse of the covariance between its
points times their values, do not depend on the predicted point and are stored: a mean is one
matrix-vector product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.caches.lru import LRUCache
from simulator.timing.products import long_parts, product

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_KNOWN = 320  # number of points of an expert
_CELL = 48  # mean number of points of a cell
_MOST = 1 << 16  # maximum number of points of a process, so that indices fit in 16 bits
_ROUNDS = 8  # rounds of Lloyd's algorithm
_AT_ONCE = 1 << 17  # number of distances that are computed at once, so that they fit in a cache
_FEW = 32  # number of points up to which a dictionary is faster than sorting
_ROWS = 96  # number of points whose means are computed at once: 0.25 MB of covariances
_SAME = 1e-9  # squares of distances that differ by less than this (rounding errors) count as equal
_CLOSE = 1e-3


class Experts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Experts of a process as a file holds them.

    size     number of points of each expert
    points   16-bit indices of these points [experts, size]; the first is the cell's centre
    weights  32-bit weights of these points [experts, size]
    """

    size: int
    points: bytes
    weights: bytes

    def numbers(self) -> NDArray[np.uint16]:
        """The points of each expert [experts, size]."""
        return np.frombuffer(self.points, "<u2").reshape(-1, self.size)

    def check(self, points: int) -> None:
        """Raise ValueError unless these are experts for a process over `points` points."""
        cells = self.size and len(self.points) // (2 * self.size)
        if self.size < 1 or cells < 1 or len(self.points) != 2 * self.size * cells:
            raise ValueError(f"experts without {self.size} points each")
        if len(self.weights) != 2 * len(self.points):
            raise ValueError("experts without a weight for each point")
        if self.numbers().max() >= points:
            raise ValueError(f"experts of points beyond the {points} that were measured")
        if not np.isfinite(np.frombuffer(self.weights, "<f4")).all():
            raise ValueError("an expert's weight that is not a finite number")


class LocalExperts:
    """The experts of a process with the covariance spread² · e^−distance. `points` gives the
    coordinates [numbers, axes] of the points with these numbers, because only a few of many experts
    are used."""

    def __init__(
        self, points: Callable[[NDArray[np.uint16]], Floats], spread: float, experts: Experts
    ) -> None:
        self._numbers = experts.numbers()
        self._points = points
        self._centres = _Points(points(self._numbers[:, 0]))
        self._spread = spread
        self._stored_weights = np.frombuffer(experts.weights, "<f4").reshape(self._numbers.shape)

    def means(self, points: Floats) -> Floats:
        """The mean at each point, [points] from [points, axes], by the expert of the nearest
        centre."""
        means = np.empty(len(points))
        most = max(1, _AT_ONCE // self._numbers.shape[1])
        for number, places in _places(_nearest(points, self._centres)):
            known, weights = self._expert(number)
            for begin in range(0, places.size, most):
                chunk = places[begin : begin + most]
                for part in long_parts(chunk.size, _ROWS):
                    rows = chunk[part]
                    means[rows] = product(_correlation(points[rows], known), weights)
        return means

    def _expert(self, number: int) -> tuple[_Points, Floats]:
        """The points of an expert, and their weights."""
        return _KNOWN_EXPERTS.get((self, number), lambda: self._read(number))

    def _read(self, number: int) -> tuple[_Points, Floats]:
        weights = self._spread**2 * self._stored_weights[number].astype(np.float64)
        return _Points(self._points(self._numbers[number])), weights


class Cell(NamedTuple):
    """Indices of a cell's own points, and of the points of its expert, beginning with the
    centre."""

    own: Ints
    known: Ints


def local_experts(points: Floats, values: Floats, spread: float, noise: Floats) -> Experts:
    """The experts of points [points, axes] with `values` [points], each with a standard deviation
    `noise` [points]. Raises ValueError for more than 65,536 points."""
    if len(points) > _MOST:
        raise ValueError(f"{len(points)} points of one process: expected at most {_MOST}")
    known = np.array([cell.known for cell in cells(points)])
    weights = [
        np.linalg.solve(covariance(points[rows], spread, noise[rows]), values[rows])
        for rows in known
    ]
    return Experts(
        size=known.shape[1],
        points=known.astype("<u2").tobytes(),
        weights=np.array(weights).astype("<f4").tobytes(),
    )


def covariance(points: Floats, spread: float, noise: Floats) -> Floats:
    """The covariance between the values of these points [points, points]."""
    return spread**2 * _correlation(points, _Points(points)) + np.diag(noise**2)


def cells(points: Floats) -> list[Cell]:
    """The cells of these points [points, axes], by Lloyd's algorithm; their centres are points."""
    if len(points) <= _KNOWN:
        every = np.arange(len(points))
        return [Cell(every, every)]
    first = np.random.default_rng(0).permutation(len(points))[: len(points) // _CELL]
    centres = points[first]
    for _ in range(_ROUNDS):
        nearest = _nearest(points, _Points(centres))
        sizes = np.bincount(nearest, minlength=len(centres))
        sums = [np.bincount(nearest, axis, len(centres)) for axis in points.T]
        centres = (np.array(sums) / np.maximum(sizes, 1)).T[sizes > 0]
    middle = np.unique(_nearest(centres, _Points(points)))
    nearest = _nearest(points, _Points(points[middle]))
    members = [np.flatnonzero(nearest == number) for number in range(len(middle))]
    return [
        Cell(own, _nearest_to_cell(points, own, at))
        for own, at in zip(members, middle, strict=True)
    ]


def _nearest_to_cell(points: Floats, own: Ints, centre: int) -> Ints:
    """Indices of the points nearest to any point of the cell, beginning with its centre."""
    away = np.min(_squares(points[[centre, *own]], _Points(points)), axis=0)
    away[centre] = -np.inf
    return np.argsort(away, kind="stable")[:_KNOWN]


class _Points:
    """Points [points, axes] to which many distances are computed.

    middle  their mean [axes]
    terms   factors by which a product of matrices gives squares of distances [axes + 2, points]
    """

    def __init__(self, points: Floats) -> None:
        self.middle = points.mean(axis=0)
        beside = points - self.middle
        squares = np.einsum("pa,pa->p", beside, beside)
        self.terms = np.vstack([beside.T, np.ones(len(points)), squares])

    @property
    def beside(self) -> Floats:
        """Their distances from the middle [points, axes]."""
        return self.terms[:-2].T


_KNOWN_EXPERTS: LRUCache[tuple[_Points, Floats]] = LRUCache(256)
"""The points and weights of experts of all processes, 0.04 MB each: those of a packaged profile's
2,304 experts would take 90 MB."""


def _places(numbers: Ints) -> list[tuple[int, Ints]]:
    """Each of these numbers, and its places."""
    if len(numbers) <= _FEW:
        few: dict[int, list[int]] = {}
        for place, number in enumerate(numbers.tolist()):
            few.setdefault(number, []).append(place)
        return [(number, np.array(places)) for number, places in few.items()]
    order, counts = np.argsort(numbers, kind="stable"), np.bincount(numbers)
    each = np.flatnonzero(counts)
    ends = np.cumsum(counts[each])
    return list(zip(each.tolist(), np.split(order, ends[:-1]), strict=True))


def _nearest(points: Floats, centres: _Points) -> Ints:
    """The nearest centre of each point, or the first of several equally near ones. The result for
    a point does not depend on the other points."""
    nearest = np.zeros(len(points), np.int64)
    if len(centres.beside) == 1:
        return nearest
    most = max(1, _AT_ONCE // len(centres.beside))
    for begin in range(0, len(points), most):
        chunk = slice(begin, begin + most)
        squares = np.rint(_squares(points[chunk], centres) / _SAME)
        nearest[chunk] = squares.argmin(axis=1)
    return nearest


def _correlation(points: Floats, others: _Points) -> Floats:
    """e^−distance of each pair of points."""
    covariance = _squares(points, others)
    np.sqrt(covariance, out=covariance)
    np.negative(covariance, out=covariance)
    return np.exp(covariance, out=covariance)


def _squares(points: Floats, others: _Points) -> Floats:
    """Squares of distances [points, others], of at least one point to at least one other."""
    away = points - others.middle
    factors = np.empty((len(away), others.terms.shape[0]))
    factors[:, -1] = 1.0
    np.multiply(away, -2, out=factors[:, :-2])
    np.einsum("pa,pa->p", away, away, out=factors[:, -2])
    squares = product(factors, others.terms)
    if squares.min() < _CLOSE:  # differences of large numbers: compute them directly
        close = np.flatnonzero(squares < _CLOSE)
        of, other = np.divmod(close, len(others.beside))
        apart = away[of] - others.beside.take(other, axis=0)
        squares.put(close, np.einsum("pa,pa->p", apart, apart))
    return squares
