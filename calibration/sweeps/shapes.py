"""Shapes for a sweep: seeded, log-uniform, and where networks live.

A sweep is a random spread and no grid, so that a fit which only remembers its points is found out
by those that were kept from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from random import Random

from calibration.sweeps.registry import Params

LARGEST_BYTES = 512 * 2**20
"""Of one tensor."""
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
"""Share of the widths that are no multiple of 64, as vocabularies and class counts are."""

Draw = Callable[[Random], Params | None]


@dataclass(frozen=True)
class Sweep:
    """Points drawn at random: calling it gives `count` distinct ones, the same each time. `draw`
    gives None for one that is too large."""

    seed: str
    count: int
    draw: Draw

    def __call__(self) -> list[Params]:
        """Raises ValueError when most draws are refused or repeat one another."""
        return self._drawn(self.seed, self.count)

    def further(self, count: int, word: str = "further") -> list[Params]:
        """Other points of the same draw, others for each word; none where it has too few."""
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
    """So many points of a draw."""
    return Sweep(seed, count, draw)


def pick(rng: Random, weights: dict[str, float]) -> str:
    """A key, as often as its weight says."""
    return rng.choices(list(weights), list(weights.values()))[0]


def dtype(rng: Random) -> str:
    """A floating-point dtype, as often as networks use it today."""
    return pick(rng, {"bf16": 5, "fp16": 2, "fp32": 3})


def real(rng: Random, low: float, high: float) -> float:
    """Log-uniform in [low, high]."""
    return exp(rng.uniform(log(low), log(high)))


def whole(rng: Random, low: int, high: int) -> int:
    """Log-uniform whole number, low and high included."""
    return min(high, max(low, round(real(rng, low, high))))


def width(rng: Random, low: int, high: int, step: int = 64) -> int:
    """A feature count: a multiple of `step`, or of 8 where it is small, and at times neither."""
    size = whole(rng, low, high)
    if rng.random() < ODD_SHARE:
        return size
    step = step if size >= step else 8
    return max(step, round(size / step) * step)


def tokens(rng: Random, low: int, high: int) -> int:
    """A batch times a length, log-uniform, as `rounded`."""
    return rounded(rng, whole(rng, low, high))


def rounded(rng: Random, size: int) -> int:
    """Mostly its three leading bits and zeros after them, at times the number itself."""
    if rng.random() < 0.3:
        return size
    unit = 1 << max(0, size.bit_length() - 3)
    return max(1, size // unit * unit)


def elements(rng: Random, dtype: str, low: int = 1000, most_bytes: int = LARGEST_BYTES) -> int:
    """How many elements a tensor has: log-uniform, and two of three from 100 times `low` on, since
    all that are smaller cost little but their launch."""
    if rng.random() < 2 / 3:
        low *= 100
    return whole(rng, low, most_bytes // ITEM_BYTES[dtype])


def matrix(
    rng: Random, dtype: str, low: int = 64, high: int = 16384, most_bytes: int = LARGEST_BYTES
) -> tuple[int, int]:
    """(rows, columns): as many as `elements` draws; columns log-uniform within [low, high]."""
    total = elements(rng, dtype, 1000, most_bytes)
    cols = min(width(rng, low, high), total)
    return rounded(rng, total // cols), cols
