"""Jitter between ranks: if all ranks end a step together, the slowest host determines its time."""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, fsum, pi, sqrt
from pathlib import Path

import msgspec

_END, _PER_UNIT = 8, 64  # the largest normal number of the integral, and its points per unit


class Jitter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The standard deviation of the logarithm of a host's time for a block of steps."""

    source: str
    sigma: float

    def share(self, ranks: int) -> float:
        """The slowdown of the slowest of `ranks` hosts relative to their mean, as a share."""
        return self.sigma * largest(ranks)


@lru_cache
def jitter() -> Jitter:
    """The measured distribution of hosts' times."""
    data = Path(__file__).with_name("jitter.json").read_bytes()
    return msgspec.json.decode(data, type=Jitter)


@lru_cache
def largest(count: int) -> float:
    """The expected maximum of `count` standard normal numbers."""
    if count < 2:
        return 0.0
    # the integral of x·n·φ(x)·Φ(x)ⁿ⁻¹ by the trapezoidal rule, which is exact to rounding for a
    # smooth function that vanishes at both ends; scipy's `quad` takes 0.4 s to import
    x = [place / _PER_UNIT for place in range(-_END * _PER_UNIT, _END * _PER_UNIT + 1)]
    below = ((erfc(-each / sqrt(2.0)) / 2.0) ** (count - 1) for each in x)
    total = fsum(each * exp(-(each**2) / 2.0) * share for each, share in zip(x, below, strict=True))
    return count * total / _PER_UNIT / sqrt(2.0 * pi)
