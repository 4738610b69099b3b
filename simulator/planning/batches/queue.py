"""The queue of one GPU that runs samples in batches as they arrive.

A GPU runs one batch at a time, as one model instance of NVIDIA's Triton Inference Server does with
its dynamic batcher. When it is free, it takes the waiting samples, `most` at once. With a window,
it waits for a full batch until the oldest sample has waited that long (Triton's
max_queue_delay_microseconds, 0 by default). Without a window, batches are small at a low load, and
grow with it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WARM_UP = 0.1
"""The share of the samples, at the beginning, that percentiles leave out."""


@dataclass(frozen=True)
class BatchServer:
    """`batch_s` [1 to the largest batch] are the seconds of each batch; `window_s` is the longest
    time that a GPU waits for a full batch."""

    batch_s: Floats
    window_s: float = 0.0

    @property
    def most(self) -> int:
        """The largest batch."""
        return self.batch_s.size

    @cached_property
    def largest_rate_per_s(self) -> float:
        """The rate of full batches, at which the queue begins to grow without limit."""
        return self.most / float(self.batch_s[-1])


@dataclass(frozen=True)
class BatchedLoad:
    """The seconds from arrival to result [samples], the sizes of the batches, the seconds in which
    the GPU works, and the seconds until the last result."""

    latency_s: Floats
    sizes: NDArray[np.int64]
    busy_s: float
    end_s: float

    @property
    def utilisation(self) -> float:
        return min(self.busy_s / max(self.end_s, 1e-12), 1.0)

    @property
    def mean_batch(self) -> float:
        return float(self.sizes.mean())

    def percentile_s(self, percent: float) -> float:
        """The latency that this percentage of the samples does not exceed."""
        own = self.latency_s[int(self.latency_s.size * WARM_UP) :]
        return float(np.quantile(own, percent / 100, method="inverted_cdf"))


def arrivals(rate_per_s: float, count: int, seed: int) -> Floats:
    """The arrival times of samples at one GPU: a Poisson process."""
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate_per_s, count))


def serve_batches(arrival_s: Floats, server: BatchServer) -> BatchedLoad:
    """Run all samples in order of arrival."""
    arrived, took = arrival_s.tolist(), server.batch_s.tolist()
    count, most = len(arrived), server.most
    ends = np.empty(count)
    sizes: list[int] = []
    free = busy = 0.0
    first = 0
    while first < count:
        full = arrived[first + most - 1] if first + most <= count else inf
        start = max(free, min(full, arrived[first] + server.window_s))
        size = min(bisect_right(arrived, start, first, min(first + most, count)) - first, most)
        free = start + took[size - 1]
        busy += took[size - 1]
        ends[first : first + size] = free
        sizes.append(size)
        first += size
    return BatchedLoad(ends - arrival_s, np.array(sizes), busy, free)
