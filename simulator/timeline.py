"""Host against GPU: who waits for whom.

The host issues kernels in order and runs ahead of the GPU until the launch queue is full or a sync
stops it; the GPU starts a kernel when it is free and the launch has arrived:

    start[k] = max(end[k-1] + gap, host[k] + latency)
    host[k]  = max(host[k-1] + work[k], start[k - depth])

Both are running maxima of prefix sums, so a block of `depth` kernels takes one numpy scan each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Launches:
    """What is to be scheduled: one row a kernel, in launch order.

    host_s      host work before this launch, its own launch call included
    duration_s  time on the GPU
    sync_after  True where the host then waits until the GPU is idle
    tail_s      host work after the last launch of the step
    """

    host_s: Floats
    duration_s: Floats
    sync_after: NDArray[np.bool_]
    tail_s: float


@dataclass(frozen=True)
class Clock:
    """The constants of a schedule, in seconds; `depth` is the launch queue's length."""

    latency_s: float
    gap_s: float
    sync_s: float
    depth: int


@dataclass(frozen=True)
class Schedule:
    """Times of each kernel in seconds from the beginning of the first step.

    `issue_s` is when the host has launched it, `idle_s` how long the GPU stood idle before it.
    """

    issue_s: Floats
    start_s: Floats
    end_s: Floats
    idle_s: Floats
    host_end_s: float


def schedule(launches: Launches, clock: Clock, repeat: int = 1) -> Schedule:
    """Run `repeat` steps back to back, without a sync between them."""
    count = launches.host_s.size
    if count == 0:  # nothing to launch: the host's own work alone
        none = np.zeros(0)
        return Schedule(none, none, none, none, repeat * launches.tail_s)
    host = np.tile(launches.host_s, repeat)
    host[count::count] += launches.tail_s
    duration = np.tile(launches.duration_s, repeat)
    total = host.size
    issue, start, idle = np.empty(total), np.empty(total), np.empty(total)
    syncs = np.flatnonzero(np.tile(launches.sync_after, repeat)) + 1
    host_free, gpu_free = 0.0, -clock.gap_s
    begin = 0
    while begin < total:
        stop = min(begin + clock.depth, total)
        following = int(np.searchsorted(syncs, begin, side="right"))
        synced = following < syncs.size and syncs[following] <= stop
        if synced:
            stop = int(syncs[following])
        rows = slice(begin, stop)
        work = np.cumsum(host[rows])
        room = np.full(stop - begin, host_free)
        first = max(begin, clock.depth)
        if first < stop:  # the queue has room once the kernel `depth` before has started
            placed = start[first - clock.depth : stop - clock.depth]
            room[first - begin :] = np.maximum(host_free, placed - work[first - begin :])
        issue[rows] = work + np.maximum.accumulate(room)
        done = np.cumsum(duration[rows] + clock.gap_s)
        before = done - (duration[rows] + clock.gap_s)
        ready = np.maximum(issue[rows] + clock.latency_s - before, gpu_free + clock.gap_s)
        base = np.maximum.accumulate(ready)
        start[rows] = before + base
        idle[rows] = np.diff(base, prepend=gpu_free + clock.gap_s)
        gpu_free = float(start[stop - 1] + duration[stop - 1])
        host_free = float(issue[stop - 1])
        if synced:
            host_free = max(host_free, gpu_free) + clock.sync_s
        begin = stop
    return Schedule(issue, start, start + duration, idle, host_free + launches.tail_s)
