"""Residuals of the roofline by shape: a Gaussian process over measured kernels.

A family's roofline has few parameters; a library has many kernels and chooses by shape. The
logarithm of measured over predicted time is interpolated between the shapes that were measured
(Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, eq. 2.25 and 2.26, with
the exponential covariance; `simulator.timing.local_experts` evaluates it). Far from all measured
shapes the residual tends to 0, and the time to that of the roofline.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.costs import Work
from simulator.timing.coordinates import coordinates
from simulator.timing.local_experts import Experts, LocalExperts, local_experts
from simulator.varying.distinct import distinct_rows

Floats = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_KEPT = 512  # number of works whose means are cached, 0.6 kB each
_LONGEST = 1e9
_PACKED = np.dtype("<i2")  # types of points and of values in a file
_WIDTH = _PACKED.itemsize
_POINT_PARTS, _VALUE_PARTS = 100, 10_000


class Residual(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """Measured kernels of one curve. A file holds its columns as bytes, since decoding two million
    numbers as text takes longer than a prediction.

    features   names of the coordinates, as in `features`
    lengths    distance along each coordinate at which the covariance falls to 1/e
    points     hundredths of the coordinates [kernels, features], 16 bits each
    values     ten-thousandths of log(measured / roofline) [kernels], 16 bits each
    spread     standard deviation of the values between distant shapes
    noise      standard deviation between kernels of the same shape
    experts    the solved process over these points; if None, it is solved at its first use
    """

    features: tuple[str, ...]
    lengths: tuple[float, ...]
    points: bytes
    values: bytes
    spread: float
    noise: float
    experts: Experts | None = None

    def __post_init__(self) -> None:
        kernels = len(self.values) // _WIDTH
        if len(self.values) % _WIDTH or len(self.points) != len(self.values) * len(self.features):
            raise ValueError(
                f"{len(self.points)} bytes of points: expected {_WIDTH * len(self.features)} for "
                f"each of {kernels} values"
            )
        if len(self.lengths) != len(self.features):
            raise ValueError(f"{len(self.lengths)} lengths for {len(self.features)} features")
        if not all(0 < length <= _LONGEST for length in self.lengths):
            raise ValueError(f"a length that is not above 0 and at most {_LONGEST:g}")
        if self.experts is not None:
            self.experts.check(kernels)

    @staticmethod
    def measured(
        features: Sequence[str],
        lengths: Sequence[float],
        points: ArrayLike,
        values: ArrayLike,
        spread: float,
        noise: float,
    ) -> Residual:
        """An unsolved residual of kernels at `points` [kernels, features], rounded to hundredths,
        with `values` [kernels], rounded to ten-thousandths."""
        return Residual(
            features=tuple(features),
            lengths=tuple(lengths),
            points=_packed(points, _POINT_PARTS),
            values=_packed(values, _VALUE_PARTS),
            spread=spread,
            noise=noise,
        )

    @property
    def scaled_points(self) -> Floats:
        """Coordinates of the measured kernels in units of `lengths` [kernels, features]."""
        return self._scaled(slice(None))

    @property
    def measured_points(self) -> Floats:
        """Coordinates of the measured kernels [kernels, features]."""
        return self._stored_points / _POINT_PARTS

    def _scaled(self, kernels: slice | NDArray[np.uint16]) -> Floats:
        """`scaled_points` of some kernels."""
        return self._stored_points[kernels] / _POINT_PARTS / np.array(self.lengths)

    @property
    def _stored_points(self) -> NDArray[np.int16]:
        """Hundredths of the coordinates of the measured kernels [kernels, features]."""
        kernels = len(self.values) // _WIDTH
        return np.frombuffer(self.points, _PACKED).reshape(kernels, len(self.features))

    @property
    def logs(self) -> Floats:
        """log(measured / roofline) of each measured kernel."""
        return np.frombuffer(self.values, _PACKED) / _VALUE_PARTS

    def of(
        self,
        works: Sequence[Work],
        units: int,
        counts: Sequence[int] | None = None,
        warm: NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Mean residuals of each work from DRAM and from L2, [works, 2]. With `counts`, the number
        of points of each work, a row is a point, and its value from L2 is valid only if the point
        is `warm`. Values of single points are cached."""
        if counts is not None:
            return self._means(coordinates(works, 0, self.features, units, counts), warm)
        unit_count = units if any(name.startswith("waves of") for name in self.features) else 0
        keys = [(unit_count, _key(work)) for work in works]
        means = {key: self._known_means.get(key) for key in keys}
        new = {key: work for key, work in zip(keys, works, strict=True) if means[key] is None}
        if new:
            cold = coordinates(list(new.values()), 0, self.features, units)
            pairs = self._means(cold).tolist()
            means |= _add(self._known_means, _KEPT, zip(new, pairs, strict=True))
        return np.array([means[key] for key in keys])

    @cached_property
    def _known_means(self) -> dict[tuple[int, bytes | str], list[float]]:
        return {}

    def _means(self, cold: Floats, warm: NDArray[np.bool_] | None = None) -> Floats:
        """Means from DRAM and, for points that are `warm`, from L2 [points, 2]."""
        first, of = distinct_rows(cold)
        if "hot" not in self.features:
            return np.repeat(self.at(cold[first])[of, None], 2, axis=1)
        also_hot = np.unique(of if warm is None else of[warm])
        both = cold[np.concatenate([first, first[also_hot]])]
        both[first.size :, self.features.index("hot")] = 1
        values = self.at(both)
        means = np.repeat(values[: first.size, None], 2, axis=1)
        means[also_hot, 1] = values[first.size :]
        return means[of]

    def at(self, coordinates: Floats) -> Floats:
        """Mean of log(time / roofline) at these points, [points, features]."""
        return self._process.means(coordinates / np.array(self.lengths))

    @cached_property
    def _process(self) -> LocalExperts:
        experts = self.experts
        if experts is None:
            noise = np.full(len(self.logs), self.noise)
            experts = local_experts(self.scaled_points, self.logs, self.spread, noise)
        return LocalExperts(self._scaled, self.spread, experts)


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


def _packed(numbers: ArrayLike, parts: int) -> bytes:
    """Numbers in units of 1 / parts. Raises ValueError if one does not fit."""
    units = np.rint(np.asarray(numbers, np.float64) * parts)
    most = np.iinfo(_PACKED).max
    if not (np.abs(units) <= most).all():
        raise ValueError(f"a measured number that is not between ±{most / parts:g}")
    return units.astype(_PACKED).tobytes()


def _add(
    cached: dict[Key, Value], most: int, values: Iterable[tuple[Key, Value]]
) -> dict[Key, Value]:
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
    except OverflowError:  # a count does not fit in 64 bits
        return repr(work)
