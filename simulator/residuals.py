"""What the physics leaves over, by shape: a Gaussian process over measured kernels.

A family's roofline has few parameters; a library has many kernels and picks among them by shape.
The logarithm of measured over predicted time is interpolated between the shapes that were measured
(Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, eq. 2.25 and 2.26, with
the exponential covariance). Far from all of them it falls back to 0, the physics alone, and its
deviation grows to the family's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work

Floats = NDArray[np.float64]

_NEAREST = 48
_AT_ONCE = 256  # sets of neighbours, 18 kB each
_KEPT = 50_000
_TILES = ((128, 128), (128, 256), (64, 64))


class Residual(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """Measured kernels of one curve.

    features   names of the coordinates, as `features` makes them
    lengths    distance along each over which the covariance falls to 1/e
    points     one row a measured kernel
    values     its log(measured / physics)
    spread     deviation of the values between far shapes
    noise      deviation between kernels of one and the same shape
    """

    features: tuple[str, ...]
    lengths: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    spread: float
    noise: float

    def of(self, works: Sequence[Work], units: int) -> Floats:
        """Mean and deviation from DRAM, and from L2, of each work, [works, 4]. Kept by work, since
        the next question is often about the same ones."""
        told = units if any(name.startswith("waves of") for name in self.features) else 0
        keys = [(told, msgspec.msgpack.encode(work)) for work in works]
        kept = self._kept
        new = {key: work for key, work in zip(keys, works, strict=True) if key not in kept}
        if new:
            if len(kept) > _KEPT:
                kept.clear()
                new = dict(zip(keys, works, strict=True))
            each = list(new.values())
            cold = coordinates(each, 0, self.features, units)
            hot = cold.copy()
            if "hot" in self.features:
                hot[:, self.features.index("hot")] = 1
            pairs = [self.at(place) for place in (cold, hot)]
            kept.update(zip(new, np.column_stack([*pairs[0], *pairs[1]]), strict=True))
        return np.array([kept[key] for key in keys])

    @cached_property
    def _kept(self) -> dict[tuple[int, bytes], Floats]:
        return {}

    def at(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of log(time / physics) at these points, [points, features].

        Each is told by its nearest measured points alone, as in Vecchia's approximation: those
        behind them add next to nothing.
        """
        points, values = self._table
        asked = coordinates / np.array(self.lengths)
        parts = [self._nearest(asked[i : i + _AT_ONCE]) for i in range(0, len(asked), _AT_ONCE)]
        near, to = (np.concatenate(part) for part in zip(*parts, strict=True))
        sets, of = np.unique(near, axis=0, return_inverse=True)
        mean, told = np.empty(len(near)), np.empty(len(near))
        rows = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of.ravel()))[:-1])
        for begin in range(0, len(sets), _AT_ONCE):
            some = sets[begin : begin + _AT_ONCE]
            for inverse, known, row in zip(
                self._inverses(points[some]), values[some], rows[begin:], strict=False
            ):
                weights = to[row] @ inverse
                mean[row] = weights @ known
                told[row] = np.sum(weights * to[row], axis=1)
        return mean, np.sqrt(np.maximum(self.spread**2 - told, 0) + self.noise**2)

    def _nearest(self, asked: Floats) -> tuple[NDArray[np.int64], Floats]:
        """The nearest points by number, and their covariances with what is asked."""
        further = np.column_stack([-2 * asked, np.ones(len(asked))]) @ self._with_norms
        count = min(_NEAREST, further.shape[1])
        near = np.sort(np.argpartition(further, count - 1, axis=1)[:, :count], axis=1)
        squares = np.take_along_axis(further, near, axis=1) + np.sum(asked**2, axis=1)[:, None]
        return near, self.spread**2 * _falling(squares)

    def _inverses(self, around: Floats) -> Floats:
        """Of the covariance between the points of each set [sets, points, features]: shapes that
        are near to each other have the same neighbours."""
        own = np.sum(around**2, axis=2)
        between = own[:, :, None] + own[:, None, :] - 2 * around @ around.transpose(0, 2, 1)
        noise = self.noise**2 * np.eye(around.shape[1])
        found = np.linalg.inv(self.spread**2 * _falling(between) + noise)
        return found.astype(float, copy=False)

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        return np.array(self.points) / np.array(self.lengths), np.array(self.values)

    @cached_property
    def _with_norms(self) -> Floats:
        points, _ = self._table
        return np.column_stack([points, np.sum(points**2, axis=1)]).T.copy()


def _falling(squares: Floats) -> Floats:
    return np.exp(-np.sqrt(np.maximum(squares, 0)))


def coordinates(works: Sequence[Work], hot: float, names: Sequence[str], units: int) -> Floats:
    """Where these works lie, [works, features], with this share of their bytes in L2."""
    column = {name: i for i, name in enumerate(names)}
    rows = np.zeros((len(works), len(names)))
    for row, work in zip(rows, works, strict=True):
        for name, value in features(work, units).items():
            if name in column:
                row[column[name]] = value
    if "hot" in column:
        rows[:, column["hot"]] = hot
    return rows


def features(work: Work, units: int) -> dict[str, float]:
    """A work's coordinates by name: sizes as binary logarithms, choices as 0 or 1, and for a
    product how full its last wave of tiles is on so many units. `hot` is not a work's own."""
    size = work.bytes + 1
    found = {
        "bytes": float(np.log2(size)),
        "flops per byte": float(np.log2((work.flops + 1) / size)),
        "instructions per byte": float(np.log2((work.instructions + 1) / size)),
        f"dtype {work.dtype}": 1.0,
    }
    for name, value in work.dims.items():
        if isinstance(value, bool):
            found[name] = float(value)
        elif isinstance(value, int | float):
            found[name] = float(np.log2(value + 1))
        elif isinstance(value, tuple | list):
            found[name] = float(np.log2(np.prod(np.array(value, float)) + 1))
        elif value is not None:
            found[f"{name} {value}"] = 1.0
    if elements := work.dims.get("elements"):
        found["bytes per element"] = float(np.log2(size / elements))
    if work.family == "gemm":
        for high, wide in _TILES:
            d = work.dims
            waves = d["b"] * -(-d["m"] // high) * -(-d["n"] // wide) / units
            found[f"waves of {high}×{wide}"] = float(np.ceil(waves) / waves) if waves > 1 else 1.0
    return found
