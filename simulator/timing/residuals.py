"""Residuals of the roofline by shape: a Gaussian process over measured kernels.

A family's roofline has few parameters; a library has many kernels and chooses by shape. The
logarithm of measured over predicted time is interpolated between the shapes that were measured
(Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, eq. 2.25 and 2.26, with
the exponential covariance). Far from all of them the residual tends to 0, the roofline alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.timing.nearest import Neighbours
from simulator.varying import anywhere, in_column
from simulator.varying.distinct import distinct_rows

Floats = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)

_NEAREST = 48
_CHUNK = 1 << 14  # points whose neighbours are searched together, 2 kB each
_AT_ONCE = 16  # sets of neighbours that are solved together: they fit in a cache
_SETS = 1024  # sets of neighbours in the cache, 0.8 kB each
_KEPT = 512  # works whose means are cached, 0.6 kB each
_LONGEST = 1e9
_TILES = ((128, 128), (128, 256), (64, 64))


class Residual(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """Measured kernels of one curve.

    features   names of the coordinates, as in `features`
    lengths    distance along each coordinate at which the covariance falls to 1/e
    points     one row per measured kernel
    values     log(measured / roofline) of each point
    spread     standard deviation of the values between distant shapes
    noise      standard deviation between kernels of the same shape
    """

    features: tuple[str, ...]
    lengths: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    spread: float
    noise: float

    def __post_init__(self) -> None:
        if {len(self.features)} != {len(self.lengths), *map(len, self.points)} or (
            len(self.points) != len(self.values)
        ):
            raise ValueError("points of other lengths than its features")
        if not all(0 < length <= _LONGEST for length in self.lengths):
            raise ValueError(f"a length that is not above 0 and at most {_LONGEST:g}")

    def of(
        self,
        works: Sequence[Work],
        units: int,
        counts: Sequence[int] | None = None,
        warm: NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Mean residuals of each work from DRAM and from L2, [works, 2]. With `counts`, the number
        of points of each work, a row is a point, and its L2 value holds if it is `warm`. Values of
        single points are cached."""
        if counts is not None:
            return self._means(coordinates(works, 0, self.features, units, counts), warm)
        unit_count = units if any(name.startswith("waves of") for name in self.features) else 0
        keys = [(unit_count, _key(work)) for work in works]
        means = {key: self._kept.get(key) for key in keys}
        new = {key: work for key, work in zip(keys, works, strict=True) if means[key] is None}
        if new:
            cold = coordinates(list(new.values()), 0, self.features, units)
            means |= _add(self._kept, _KEPT, zip(new, self._means(cold), strict=True))
        return np.array([means[key] for key in keys])

    @cached_property
    def _kept(self) -> dict[tuple[int, bytes | str], Floats]:
        return {}

    def _means(self, cold: Floats, warm: NDArray[np.bool_] | None = None) -> Floats:
        """Means from DRAM and, for points that are `warm`, from L2 [points, 2]."""
        means = self._at_distinct(cold)
        both = np.stack([means, means], axis=1)
        if "hot" in self.features:
            some = slice(None) if warm is None else warm
            there = cold[some]
            there[:, self.features.index("hot")] = 1
            both[some, 1] = self._at_distinct(there)
        return both

    def _at_distinct(self, coordinates: Floats) -> Floats:
        """`at`, computed once for each distinct point, in chunks that bound the memory."""
        first, of = distinct_rows(coordinates)
        distinct = np.empty(first.size)
        for begin in range(0, first.size, _CHUNK):
            some = slice(begin, begin + _CHUNK)
            distinct[some] = self.at(coordinates[first[some]])
        return distinct[of]

    def at(self, coordinates: Floats) -> Floats:
        """Mean of log(time / roofline) at these points, [points, features].

        Each mean depends only on the nearest measured points, as in Vecchia's approximation:
        further points add next to nothing.
        """
        near, far = self._neighbours.of(coordinates / np.array(self.lengths))
        return np.einsum("pn,pn->p", self.spread**2 * np.exp(-far), self._weights(near))

    def _weights(self, near: NDArray[np.int64]) -> Floats:
        """The weight of each of the nearest points, [points, nearest]: the inverse of the
        covariance between them times their values. Shapes that are close to each other share their
        neighbours, so results are cached by neighbours."""
        first, of = distinct_rows(near)
        distinct = near[first]
        keys = [row.tobytes() for row in distinct.astype(np.int32)]
        weights = {key: self._solved.get(key) for key in keys}
        new = {key: row for key, row in zip(keys, distinct, strict=True) if weights[key] is None}
        if new:
            sets = np.array(list(new.values()))
            some = [self._inverted(sets[i : i + _AT_ONCE]) for i in range(0, len(sets), _AT_ONCE)]
            weights |= _add(self._solved, _SETS, zip(new, np.concatenate(some), strict=True))
        return np.array([weights[key] for key in keys])[of]

    def _inverted(self, sets: NDArray[np.int64]) -> Floats:
        """The inverse of the covariance between some points, times their values [sets, points]."""
        around = self._neighbours.points[sets]
        own = np.sum(around**2, axis=2)
        covariance = -2 * around @ around.transpose(0, 2, 1)
        covariance += own[:, :, None]
        covariance += own[:, None, :]
        np.maximum(covariance, 0, out=covariance)
        np.sqrt(covariance, out=covariance)
        np.negative(covariance, out=covariance)
        np.exp(covariance, out=covariance)
        covariance *= self.spread**2
        covariance += self.noise**2 * np.eye(sets.shape[1])
        return np.linalg.solve(covariance, self._values[sets][..., None])[..., 0]

    @cached_property
    def _values(self) -> Floats:
        return np.array(self.values)

    @cached_property
    def _solved(self) -> dict[bytes, Floats]:
        return {}

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours(np.array(self.points) / np.array(self.lengths), _NEAREST)


class Residuals(Mapping[str, Residual]):
    """The residuals of a profile by curve, each decoded at first use: a step needs a few of a
    hundred and fifty."""

    def __init__(self, encoded: Mapping[str, msgspec.Raw]) -> None:
        self._encoded = encoded
        self._decoded: dict[str, Residual] = {}

    def __getitem__(self, curve: str) -> Residual:
        if curve not in self._decoded:
            self._decoded[curve] = msgspec.json.decode(self._encoded[curve], type=Residual)
        return self._decoded[curve]

    def __contains__(self, curve: object) -> bool:
        return curve in self._encoded

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)


def _add(
    cached: dict[Key, Floats], most: int, values: Iterable[tuple[Key, Floats]]
) -> dict[Key, Floats]:
    """Add values to a cache that several threads use; empty it first if it would hold more than
    `most`. Returns the values."""
    added = dict(values)
    if len(cached) + len(added) > most:
        cached.clear()
    cached.update(added)
    return added


def _key(work: Work) -> bytes | str:
    try:
        return msgspec.msgpack.encode(work)
    except OverflowError:  # a count of more than 64 bits
        return repr(work)


def coordinates(
    works: Sequence[Work],
    hot: float,
    names: Sequence[str],
    units: int,
    counts: Sequence[int] | None = None,
) -> Floats:
    """Coordinates of these works, [works, names], with the share `hot` of their bytes in L2. With
    `counts`, the number of points of each work, a row is a point."""
    column = {name: i for i, name in enumerate(names)}
    each = counts or [1] * len(works)
    rows = np.zeros((sum(each), len(names)))
    begin = 0
    for work, count in zip(works, each, strict=True):
        for name, value in features(work, units).items():
            if name in column:
                rows[begin : begin + count, column[name]] = value
        begin += count
    if "hot" in column:
        rows[:, column["hot"]] = hot
    return rows


def features(work: Work, units: int) -> dict[str, Any]:
    """A work's coordinates by name: sizes as binary logarithms, choices as 0 or 1, and for a
    product the fullness of its last wave of tiles on `units` units. Values are numbers, or arrays
    for a work at many points. `hot` is not among them."""
    size = in_column(work.bytes) + 1
    columns: dict[str, Any] = {
        "bytes": np.log2(size),
        "flops per byte": np.log2((in_column(work.flops) + 1) / size),
        "instructions per byte": np.log2((in_column(work.instructions) + 1) / size),
        f"dtype {work.dtype}": 1.0,
    }
    for name, value in work.dims.items():
        if isinstance(value, bool):
            columns[name] = float(value)
        elif isinstance(value, int | float):
            columns[name] = np.log2(in_column(value) + 1)
        elif isinstance(value, tuple | list):
            sizes: Sequence[Any] = value
            columns[name] = np.log2(prod(1.0 * in_column(one) for one in sizes) + 1)
        elif value is not None:
            columns[f"{name} {value}"] = 1.0
    if "elements" in work.dims and anywhere(work.dims["elements"]):
        columns["bytes per element"] = np.log2(size / in_column(work.dims["elements"]))
    if work.family == "gemm":
        b, m, n = (in_column(work.dims[name]) for name in "bmn")
        for high, wide in _TILES:
            waves = b * -(-m // high) * -(-n // wide) / units
            columns[f"waves of {high}×{wide}"] = np.where(
                waves > 1, np.ceil(waves) / np.maximum(waves, 1), 1.0
            )
    return columns
