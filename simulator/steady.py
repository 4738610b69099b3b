"""A step among many, back to back: how long it takes once the first ones are done.

Without syncs, and with a queue that never fills, a step takes what the slower of the two takes:
every path from launch to launch goes along the host (H seconds a step), crosses once to the GPU,
and goes on there (G seconds a step). A queue of `depth` launches adds paths back to the host, each
`depth` kernels ahead. Two steps or more ahead they are never the longest: a detour over the host
and back saves at least ⌊depth / kernels⌋ − 1 steps of the slower one, and costs one latency.
Else the steps are run, until one is as the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.timeline import Clock, Floats, Launches, Run

STEPS, SETTLED = 8, 4  # steps run at most, and those of them taken as the steady state
_SAME = 2e-13  # of the time so far: what rounding leaves between two equal steps


@dataclass(frozen=True)
class Steady:
    """`period_s` of a step [...]; `idle_s` of the GPU in it, `after_sync_s` the part of it that
    follows a sync."""

    period_s: Floats
    idle_s: Floats
    after_sync_s: Floats


def steady(launches: Launches, clock: Clock) -> Steady:
    """The steady state of each machine of `launches` and `clock`."""
    host, duration = np.broadcast_arrays(launches.host_s, launches.duration_s)
    lead, count = host.shape[:-1], host.shape[-1]
    tail = np.broadcast_to(np.asarray(launches.tail_s, float), lead)
    none = np.zeros(lead)
    if count == 0:
        return Steady(tail + none, none, none)
    on_host = host.sum(axis=-1) + tail
    on_gpu = duration.sum(axis=-1) + count * np.asarray(clock.gap_s)
    period = np.maximum(on_host, on_gpu)
    ahead = clock.depth // count
    if launches.sync_after.any():
        return _run(launches, clock, ahead >= 1)
    free = (ahead - 1) * period >= np.asarray(clock.latency_s)
    if not lead:
        return Steady(period, period - on_gpu, none) if free else _run(launches, clock, False)
    found = Steady(period, period - on_gpu, none.copy())
    if not free.all():
        rest = ~free
        run = _run(*_rows(launches, clock, rest, lead), False)
        for name in ("period_s", "idle_s", "after_sync_s"):
            getattr(found, name)[rest] = getattr(run, name)
    return found


def _rows(
    launches: Launches, clock: Clock, rows: NDArray[np.bool_], lead: tuple[int, ...]
) -> tuple[Launches, Clock]:
    def those(value: float | Floats) -> Floats:
        return np.broadcast_to(np.asarray(value, float), lead)[rows]

    host, duration = np.broadcast_arrays(launches.host_s, launches.duration_s)
    return (
        Launches(host[rows], duration[rows], launches.sync_after, those(launches.tail_s)),
        replace(
            clock, latency_s=those(clock.latency_s), gap_s=those(clock.gap_s),
            sync_s=those(clock.sync_s),
        ),
    )  # fmt: skip


def _run(launches: Launches, clock: Clock, never_full: bool) -> Steady:
    """Step by step. `never_full`: no launch waits for room in the queue, as where syncs come more
    often than it fills."""
    run = Run(launches, replace(clock, depth=1 << 30) if never_full else clock, STEPS)
    ends: list[Floats] = []
    hosts: list[Floats] = []
    while run.done < STEPS:
        run.step()
        ends.append(run.gpu_s[..., 0])
        hosts.append(run.host_s[..., 0])
        looked_at = 1 < run.done <= STEPS - SETTLED + 1  # later, a settled step would come too late
        if looked_at and _settled(run, ends, hosts, 0 if never_full else clock.depth):
            return _last(run, launches, ends[-1] - ends[-2], 1)
    return _last(run, launches, (ends[-1] - ends[-1 - SETTLED]) / SETTLED, SETTLED)


def _settled(run: Run, ends: list[Floats], hosts: list[Floats], queue: int) -> bool:
    """Is all that the next step depends on, but for the time between, as it was a step before?
    That is when the host and the GPU are free, and the starts of what fills the queue."""
    shift = ends[-1] - ends[-2]
    least = _SAME * ends[-1]
    if queue + run.count > run.kernels_done or (abs(hosts[-1] - hosts[-2] - shift) > least).any():
        return False
    now = run.start[..., run.kernels_done - queue : run.kernels_done]
    before = run.start[..., run.kernels_done - queue - run.count : run.kernels_done - run.count]
    return bool((abs(now - before - shift[..., None]) <= least[..., None]).all())


def _last(run: Run, launches: Launches, period: Floats, steps: int) -> Steady:
    """What the last steps show. A kernel right after a sync waited for the sync."""
    span = run.idle[..., run.kernels_done - steps * run.count : run.kernels_done]
    idle = span.reshape(*span.shape[:-1], steps, run.count).mean(axis=-2)
    after = np.roll(launches.sync_after, 1)
    total = idle.sum(axis=-1)
    return Steady(period, total, idle[..., after].sum(axis=-1))
