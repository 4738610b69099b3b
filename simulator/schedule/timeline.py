"""The schedule of host and GPU, and when each waits for the other.

The host issues kernels in order and runs ahead of the GPU until the launch queue is full or a sync
stops it. The GPU starts a kernel when it is free and the launch has arrived:

    start[k] = max(end[k-1] + gap, host[k] + latency)
    host[k]  = max(host[k-1] + work[k], start[k - depth])

Both are running maxima of prefix sums, so a block of `depth` kernels takes one numpy scan each.
Arrays may have axes before that of the kernels, to schedule many machines or steps at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Launches:
    """Kernels to schedule, in launch order along the last axis.

    host_s      host work before this launch, its own launch call included [..., kernels]
    duration_s  time on the GPU [..., kernels]
    sync_after  True if the host then waits until the GPU is idle [kernels]
    tail_s      host work after the last launch of the step, a number or [...]
    """

    host_s: Floats
    duration_s: Floats
    sync_after: NDArray[np.bool_]
    tail_s: float | Floats


@dataclass(frozen=True)
class Clock:
    """The constants of a schedule in seconds, each a number or an array [...]; `depth` is the
    launch queue's length."""

    latency_s: float | Floats
    gap_s: float | Floats
    sync_s: float | Floats
    depth: int


@dataclass(frozen=True)
class Schedule:
    """Times of each kernel in seconds from the beginning of the first step.

    `issue_s` is the time of the launch on the host, `idle_s` the idle time of the GPU before the
    kernel; `host_end_s` is the end of the host's work.
    """

    issue_s: Floats
    start_s: Floats
    end_s: Floats
    idle_s: Floats
    host_end_s: float


def schedule(launches: Launches, clock: Clock, repeat: int = 1) -> Schedule:
    """Run `repeat` steps back to back, without a sync between them."""
    count = launches.host_s.shape[-1]
    if count == 0:  # nothing to launch: only host work
        none = np.zeros(0)
        return Schedule(none, none, none, none, float(repeat * np.asarray(launches.tail_s).max()))
    run = Run(launches, clock, repeat)
    for _ in range(repeat):
        run.step()
    duration = np.concatenate([run.duration] * repeat, axis=-1)
    return Schedule(run.issue, run.start, run.start + duration, run.idle, float(run.host_s.max()))


class Run:
    """The steps run so far, back to back: `issue`, `start` and `idle` are [..., steps · kernels],
    `host_s` [..., 1] is the end of the host's work in the last step."""

    def __init__(self, launches: Launches, clock: Clock, steps: int) -> None:
        host, self.duration = np.broadcast_arrays(launches.host_s, launches.duration_s)
        lead, self.count = host.shape[:-1], host.shape[-1]
        self.depth = clock.depth
        self.tail, self.latency, self.gap, self.sync = (
            _column(value, lead)
            for value in (launches.tail_s, clock.latency_s, clock.gap_s, clock.sync_s)
        )
        self.syncs = np.flatnonzero(launches.sync_after) + 1
        self.work = host
        self.slot = self.duration + self.gap
        shape = (*lead, steps * self.count)
        self.issue, self.start, self.idle = np.empty(shape), np.empty(shape), np.empty(shape)
        self.host_s, self.gpu_s = np.zeros((*lead, 1)), -self.gap
        self.done = 0
        self.kernels_done = 0

    def step(self) -> None:
        """Run one more step."""
        at = self.kernels_done
        begin = 0
        while begin < self.count:
            stop = min(begin + self.depth, self.count)
            following = int(np.searchsorted(self.syncs, begin, side="right"))
            synced = following < self.syncs.size and self.syncs[following] <= stop
            if synced:
                stop = int(self.syncs[following])
            self._block(begin, stop, at + begin)
            if synced:
                self.host_s = np.maximum(self.host_s, self.gpu_s) + self.sync
            begin = stop
        self.host_s = self.host_s + self.tail
        self.kernels_done += self.count
        self.done += 1

    def _block(self, begin: int, stop: int, at: int) -> None:
        """Schedule kernels `begin` to `stop` of the step, at most as many as fit in the queue; `at`
        is the index of the first one over all steps."""
        rows = slice(at, at + stop - begin)
        work = np.cumsum(self.work[..., begin:stop], axis=-1)
        room = np.empty_like(work)
        room[...] = self.host_s
        first = max(at, self.depth)
        if first < rows.stop:  # the queue has room once the kernel `depth` before has started
            placed = self.start[..., first - self.depth : rows.stop - self.depth]
            late = slice(first - at, None)
            room[..., late] = np.maximum(self.host_s, placed - work[..., late])
        issue = work + np.maximum.accumulate(room, axis=-1)
        slot = self.slot[..., begin:stop]
        before = np.cumsum(slot, axis=-1) - slot
        free = self.gpu_s + self.gap
        base = np.maximum.accumulate(
            np.maximum(issue + self.latency - before, free), axis=-1
        )  # the GPU's idle time so far
        start = before + base
        self.issue[..., rows], self.start[..., rows] = issue, start
        self.idle[..., rows.start] = base[..., 0] - free[..., 0]
        np.subtract(base[..., 1:], base[..., :-1], out=self.idle[..., rows.start + 1 : rows.stop])
        self.gpu_s = start[..., -1:] + self.duration[..., stop - 1 : stop]
        self.host_s = issue[..., -1:]


def _column(value: float | Floats, lead: tuple[int, ...]) -> Floats:
    """A number, or one number per machine, as an array [..., 1]."""
    return np.broadcast_to(np.asarray(value, float), lead)[..., None]
