"""Jitter between ranks: if all ranks end a step together, the slowest host determines its time."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np


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
    # the explorer starts without scipy: only a step over several GPUs needs it
    from scipy.integrate import quad  # pyright: ignore
    from scipy.special import ndtr  # pyright: ignore[reportMissingTypeStubs]

    def density(x: float) -> float:
        normal = np.exp(-(x**2) / 2.0) / np.sqrt(2.0 * np.pi)
        return float(x * count * normal * ndtr(x) ** (count - 1))

    return float(quad(density, -8.0, 8.0)[0])  # pyright: ignore[reportUnknownArgumentType]
