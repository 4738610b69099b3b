"""Shapes for a sweep: seeded, log-uniform, in the range of networks.

A sweep is a random sample, not a grid, so that held-out points expose a fit that only memorises its
points.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from random import Random

from calibration.sweeps.registry import Params

LARGEST_BYTES = 512 * 2**20
"""The largest size of one tensor."""
ITEM_BYTES = {
    "fp32": 4,
    "tf32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "int8": 1,
    "int64": 8,
    "int32": 4,
    "bool": 1,
    "uint8": 1,
}
ODD_SHARE = 0.15
"""Share of the widths that are not multiples of 64, such as vocabularies and class counts."""

Draw = Callable[[Random], Params | None]


@dataclass(frozen=True)
class Sweep:
    """Points drawn at random: a call returns `count` distinct points, the same each time. `draw`
    returns None for a point that is too large."""

    seed: str
    count: int
    draw: Draw

    def __call__(self) -> list[Params]:
        """Draw the points. Raises ValueError if most draws are refused or repeat others."""
        return self._drawn(self.seed, self.count)

    def further(self, count: int, word: str = "further") -> list[Params]:
        """Up to `count` further points of the same distribution, none of them in `self()`. `word`
        seeds the draw. Empty if there are too few distinct points."""
        known = [json.dumps(each) for each in self()]
        try:
            drawn = self._drawn(f"{self.seed} {word}", count + self.count)
        except ValueError:
            return []
        return [each for each in drawn if json.dumps(each) not in known][:count]

    def _drawn(self, seed: str, count: int) -> list[Params]:
        rng = Random(seed)
        distinct: dict[str, Params] = {}
        for _ in range(200 * count):
            drawn = self.draw(rng)
            if drawn is not None:
                distinct.setdefault(json.dumps(drawn), drawn)
            if len(distinct) == count:
                return list(distinct.values())
        raise ValueError(f"{seed}: {len(distinct)} points found, expected {count}: widen the draw")


def sweep(seed: str, count: int, draw: Draw) -> Sweep:
    """A function that draws a sweep of `count` points."""
    return Sweep(seed, count, draw)


def pick(rng: Random, weights: dict[str, float]) -> str:
    """A random key, with probability by weight."""
    return rng.choices(list(weights), list(weights.values()))[0]


def dtype(rng: Random) -> str:
    """A random floating-point dtype, each as often as in current networks."""
    return pick(rng, {"bf16": 5, "fp16": 2, "fp32": 3})


def real(rng: Random, low: float, high: float) -> float:
    """A log-uniform number in [low, high]."""
    return exp(rng.uniform(log(low), log(high)))


def whole(rng: Random, low: int, high: int) -> int:
    """A log-uniform whole number from low to high, both included."""
    return min(high, max(low, round(real(rng, low, high))))


def width(rng: Random, low: int, high: int, step: int = 64) -> int:
    """A number of features: a multiple of `step`, or of 8 if it is small, and sometimes of
    neither."""
    size = whole(rng, low, high)
    if rng.random() < ODD_SHARE:
        return size
    step = step if size >= step else 8
    return max(step, round(size / step) * step)


def tokens(rng: Random, low: int, high: int) -> int:
    """A batch multiplied by a length: log-uniform, rounded by `rounded`."""
    return rounded(rng, whole(rng, low, high))


def rounded(rng: Random, size: int) -> int:
    """The number rounded to three significant bits, or sometimes the number itself."""
    if rng.random() < 0.3:
        return size
    unit = 1 << max(0, size.bit_length() - 3)
    return max(1, size // unit * unit)


def elements(rng: Random, dtype: str, low: int = 1000, most_bytes: int = LARGEST_BYTES) -> int:
    """The number of elements of a tensor: log-uniform. Two of three tensors have more than 100
    times `low` elements, since smaller ones cost little more than their launch."""
    if rng.random() < 2 / 3:
        low *= 100
    return whole(rng, low, most_bytes // ITEM_BYTES[dtype])


def matrix(
    rng: Random, dtype: str, low: int = 64, high: int = 16384, most_bytes: int = LARGEST_BYTES
) -> tuple[int, int]:
    """(rows, columns) with about `elements` elements; the number of columns is log-uniform in [low,
    high]."""
    total = elements(rng, dtype, 1000, most_bytes)
    cols = min(width(rng, low, high), total)
    return rounded(rng, total // cols), cols
