"""What a step does on its card, as far as its power depends on it: kernels and collectives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator.timing.kernel_times import NO_SLOWDOWN, KernelTimes, Slowdown, TimeParts
from simulator.timing.products import weighted_sum
from simulator.timing.roofline import Roofs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Load:
    """The kernels of a step, each `count` [kernels] times, with the share of their bytes that is in
    L2: `hot` is [kernels] for one step, or [kernels, points] for one at each point. `captured` in a
    CUDA graph, whose kernels on several streams begin without launches of their own."""

    roofs: Roofs
    hot: Floats
    count: Floats
    captured: bool = False

    @cached_property
    def _kernel_times(self) -> KernelTimes:
        count = self.count.reshape(-1, *(1,) * (self.hot.ndim - 1))
        return self.roofs.kernel_times(self.hot, self.roofs.dirty(count))

    def parts(self, slowdown: Slowdown = NO_SLOWDOWN) -> TimeParts:
        """The times of each kernel at a lower clock."""
        return self._kernel_times.parts(slowdown, self.captured)

    def run(self, mode: str) -> Load:
        """The kernels as a mode runs them; the same object unless it runs some otherwise."""
        captured = mode == "cuda_graph" and bool((self.roofs.streams > 1).any())
        return replace(self, captured=True) if captured else self

    def busy_s(self, slowdown: Slowdown = NO_SLOWDOWN) -> Floats:
        """Total seconds of the kernels [points]."""
        return weighted_sum(self.count, self.parts(slowdown).duration_s)

    @cached_property
    def chip_j(self) -> Floats:
        """Joules of the step at the highest clock, without those of tensor cores and DRAM."""
        return weighted_sum(self.count, self.roofs.chip_j)

    @cached_property
    def tensor_j(self) -> Floats:
        """Joules of tensor cores in the step at the highest clock."""
        return weighted_sum(self.count, self.roofs.tensor_j)

    @cached_property
    def dram_bytes(self) -> Floats:
        """Bytes of the step that L2 does not hold."""
        return weighted_sum(self.count, self.roofs.bytes * (1 - self.hot))


@dataclass(frozen=True)
class Exchange:
    """What the collectives of a step add to the card's time and energy, for one step or [points].

    exposed_s    seconds in which only collectives run
    running_s    seconds in which collectives run
    dram_bytes   bytes that they read and write in DRAM, through L2
    link_bytes   bytes that the card sends to others and receives from them
    """

    exposed_s: float | Floats = 0.0
    running_s: float | Floats = 0.0
    dram_bytes: float | Floats = 0.0
    link_bytes: float | Floats = 0.0


NO_EXCHANGE = Exchange()
