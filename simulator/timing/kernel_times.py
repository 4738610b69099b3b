"""The times of kernels at a clock, and of kernels that run concurrently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.timing.kernel_models import duration_s, overlap_slowdown
from simulator.timing.rates import UNITS_SEEN
from simulator.varying import in_column

Floats = NDArray[np.float64]


class Slowdown(NamedTuple):
    """Slowdown at a lower clock, relative to the clock at which kernels were timed: of vector lanes
    and L2, and of tensor cores [points]."""

    vector: Floats | float
    tensor: Floats | float


NO_SLOWDOWN = Slowdown(1.0, 1.0)


_STREAMS = 4
"""Streams in which cuDNN concurrently runs the kernels of a convolution's groups. Of the sum of the
groups' times, SEW's 16 groups take 0.28 in eager mode and 0.30 in a CUDA graph, wav2vec 2.0's 16
large ones 0.40 and 0.44, NFNet's 6 and RegNet's 8 small ones 0.43 and 0.35 in a graph, as measured
on an H100 and an H200."""
_AT_ONCE = 0.85
"""The share of `_STREAMS` that is busy at a time, since streams do not begin and end together."""
_LAUNCH_S = 4e-6
"""The time between two launches: a kernel that takes less ends before the next one begins."""
_RECURRENT = 0.92
"""The share of the streams of a recurrent layer that is busy at a time in a CUDA graph, as measured
on an H200 (`calibration.measure.recurrent_graphs`)."""
_RECURRENT_LEAST = 1.2
"""How many kernels of a recurrent layer run at once at least, since their products wait for L2."""


class TimeParts(NamedTuple):
    """The seconds of kernels by part [kernels, ...]."""

    compute_s: Floats
    memory_s: Floats
    fixed_s: Floats

    @property
    def duration_s(self) -> Floats:
        """max(compute, memory) + fixed."""
        return duration_s(self.compute_s, self.memory_s, self.fixed_s)


@dataclass(frozen=True)
class KernelTimes:
    """The seconds of kernels with a known share of their operands in L2, at any clock: compute,
    bytes from DRAM and from L2, and fixed. `tensor` is 1 for kernels on tensor cores. `smooth` is
    None if compute and memory time overlap fully in every kernel; `beside` is the number of kernels
    that run at once, and `streams` the number of a recurrent layer's kernels that a CUDA graph runs
    at once, each None if it is 1 for every kernel."""

    compute_s: Floats
    dram_s: Floats
    l2_s: Floats
    fixed_s: Floats
    tensor: Floats
    smooth: Floats | None
    beside: Floats | None = None
    streams: Floats | None = None

    def parts(self, slowdown: Slowdown = NO_SLOWDOWN, captured: bool = False) -> TimeParts:
        """The times at a lower clock, which slows computing and L2 but not DRAM; `captured` in a
        CUDA graph."""
        each = slowdown.vector + self.tensor * (slowdown.tensor - slowdown.vector)
        compute, moved = self.compute_s * each, self.dram_s + self.l2_s * slowdown.vector
        alone = TimeParts(compute, moved, self.fixed_s)
        if self.smooth is not None:
            overlap = overlap_slowdown(compute, moved) ** self.smooth
            alone = TimeParts(compute * overlap, moved * overlap, self.fixed_s)
        if captured and self.streams is not None:
            alone = TimeParts(*(part / self.streams for part in alone))
        return alone if self.beside is None else _side_by_side(alone, self.beside)


def _side_by_side(alone: TimeParts, beside: Floats) -> TimeParts:
    """The times by which kernels lengthen a step if `beside` of them run concurrently: their share
    of the time that one takes alone, but not less than the time between two launches."""
    duration = alone.duration_s
    shared = np.maximum(duration / beside, np.minimum(duration, _LAUNCH_S))
    share = np.where(beside > 1, shared / np.maximum(duration, 1e-12), 1.0)
    return TimeParts(*(part * share for part in alone))


def at_once(work: Work) -> Any:
    """How many kernels like this one run concurrently [points]: 1, or more if they are those of a
    convolution's separate groups and each leaves multiprocessors free."""
    if "separate_groups" not in work.dims:
        return 1.0
    groups: int = work.dims["separate_groups"]
    room = UNITS_SEEN / in_column(work.dims.get("group_blocks", UNITS_SEEN))
    return np.maximum(1.0, np.minimum(_AT_ONCE * groups / -(-groups // _STREAMS), room))


def at_once_in_graph(work: Work) -> Any:
    """How many kernels of a recurrent layer like this one a CUDA graph runs concurrently [points].
    In eager mode the host launches them too slowly."""
    if "streams" not in work.dims:
        return 1.0
    room = UNITS_SEEN / in_column(work.dims["stream_blocks"])
    return np.minimum(_RECURRENT * work.dims["streams"], np.maximum(_RECURRENT_LEAST, room))
