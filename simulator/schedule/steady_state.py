"""A step among many, back to back: how long it takes once the first ones are done.

Without syncs, and with a queue that never fills, a step takes what the slower of the two takes:
every path from launch to launch goes along the host (H seconds a step), crosses once to the GPU,
and goes on there (G seconds a step). A queue of `depth` launches adds paths back to the host, each
`depth` kernels ahead. Two steps or more ahead they are never the longest: a detour over the host
and back saves at least ⌊depth / kernels⌋ − 1 steps of the slower one, and costs one latency.
With a shorter queue every detour is compared with the path along the slower one (`bounds`). Else
the steps are run, until one is as the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.schedule.timeline import Clock, Floats, Launches, Run

STEPS, SETTLED = 8, 4  # steps run at most, and those of them taken as the steady state
_SAME = 2e-13  # of the time so far: what rounding leaves between two equal steps


@dataclass(frozen=True)
class Steady:
    """`period_s` of a step [...]; `idle_s` of the GPU in it, `after_sync_s` the part of it that
    follows a sync."""

    period_s: Floats
    idle_s: Floats
    after_sync_s: Floats


@dataclass(frozen=True)
class Bounds:
    """Where no path through a full queue is the longest [...]: of a `period`, its kernels nudged
    or not, and of a step `alone`. `lead_s` is the longest path from the host to the GPU, less what
    the GPU did before, `slots_s` all that it does in a step."""

    period: NDArray[np.bool_]
    alone: NDArray[np.bool_]
    lead_s: Floats
    slots_s: Floats


NUDGED = 1e-5
"""Share of the GPU's time that a nudge of its kernels stays well below."""


def bounds(launches: Launches, clock: Clock) -> Bounds:
    """Compare every detour through the queue with the direct path.

    One leaves the GPU at kernel k, is at the host `depth` kernels later, goes along it to m, and
    back: that the GPU itself takes as long from k to m is one comparison with the least of (GPU −
    host) over all m. The other leaves the host at j, and comes back `depth` kernels after m.
    """
    host, duration = np.broadcast_arrays(launches.host_s, launches.duration_s)
    lead, count = host.shape[:-1], host.shape[-1]
    tail, latency, gap = (
        np.broadcast_to(np.asarray(v, float), lead)[..., None]
        for v in (launches.tail_s, clock.latency_s, clock.gap_s)
    )
    # The host is as at one place for all where it was broadcast from one.
    issued_s = np.cumsum(launches.host_s, axis=-1)
    after = np.cumsum(duration + gap, axis=-1)
    slots, step = after[..., -1:], issued_s[..., -1:] + tail
    before = np.zeros(after.shape)  # what the GPU did before a kernel
    before[..., 1:] = after[..., :-1]
    ahead_s = before - issued_s
    lead_s = latency[..., 0] - ahead_s.min(axis=-1)
    if launches.sync_after.any():
        no = np.zeros(lead, np.bool_)
        return Bounds(no, no, lead_s, slots[..., 0])
    deep = clock.depth >= count
    if deep and ((clock.depth // count - 1) * np.maximum(step, slots) >= latency).all():
        yes = np.ones(lead, np.bool_)
        return Bounds(yes, yes, lead_s, slots[..., 0])
    slack = latency + NUDGED * slots
    turns, rest = divmod(clock.depth, count)

    def later(values: Floats, each: Floats) -> Floats:
        """Values that grow by `each` a step, `depth` kernels later."""
        return np.concatenate(
            [values[..., rest:] + turns * each, values[..., :rest] + (turns + 1) * each], axis=-1
        )

    def least(values: Floats, each: Floats) -> Floats:
        """The least from each kernel on, over all steps, where they do not fall."""
        on = np.minimum.accumulate(values[..., ::-1], axis=-1)[..., ::-1]
        return np.minimum(on, on[..., :1] + each)

    grows, spare = (slots - step), slack[..., 0]
    later_s = later(issued_s, issued_s[..., -1:] + np.asarray(launches.tail_s)[..., None]) - before
    by_gpu, by_host = grows[..., 0] >= 0, -grows[..., 0] >= NUDGED * slots[..., 0]
    if by_gpu.any():
        kept = later(least(ahead_s, grows), grows)
        kept += later_s
        by_gpu = by_gpu & (kept.min(axis=-1) >= spare)
    if by_host.any():
        kept = least(later_s, -grows)
        kept += ahead_s
        by_host = by_host & (kept.min(axis=-1) >= spare)
    straight = by_gpu | by_host
    return Bounds(straight, straight | deep, lead_s, slots[..., 0])


def alone(launches: Launches, clock: Clock, known: Bounds) -> Floats:
    """When the GPU has finished a single step [...]."""
    slack_s = known.lead_s + known.slots_s - np.asarray(clock.gap_s)
    rest = np.flatnonzero(~known.alone.ravel())
    if rest.size:
        rows = ~known.alone
        some, own = _rows(launches, clock, rows, known.alone.shape)
        run = Run(some, own, 1)
        run.step()
        slack_s[rows] = run.gpu_s[..., 0]
    return slack_s


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
    if not np.all(free):
        free = free | bounds(launches, clock).period
    if not lead:
        return Steady(period, period - on_gpu, none) if free else _run(launches, clock, False)
    state = Steady(period, period - on_gpu, none.copy())
    if not free.all():
        rest = ~free
        run = _run(*_rows(launches, clock, rest, lead), False)
        for name in ("period_s", "idle_s", "after_sync_s"):
            getattr(state, name)[rest] = getattr(run, name)
    return state


def _rows(
    launches: Launches, clock: Clock, rows: NDArray[np.bool_], lead: tuple[int, ...]
) -> tuple[Launches, Clock]:
    def those(value: float | Floats) -> Floats:
        return np.broadcast_to(np.asarray(value, float), lead)[rows]

    host, duration = np.broadcast_arrays(launches.host_s, launches.duration_s)
    return (
        Launches(host[rows], duration[rows], launches.sync_after, those(launches.tail_s)),
        replace(
            clock,
            latency_s=those(clock.latency_s),
            gap_s=those(clock.gap_s),
            sync_s=those(clock.sync_s),
        ),
    )


def _run(launches: Launches, clock: Clock, never_full: bool) -> Steady:
    """Run step by step. `never_full`: no launch waits for room in the queue, since syncs come more
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
    """Is the state that the next step depends on the same as one step before, shifted in time? The
    state is when the host and the GPU are free, and the starts of the kernels in the queue."""
    shift = ends[-1] - ends[-2]
    least = _SAME * ends[-1]
    if queue + run.count > run.kernels_done or (abs(hosts[-1] - hosts[-2] - shift) > least).any():
        return False
    now = run.start[..., run.kernels_done - queue : run.kernels_done]
    before = run.start[..., run.kernels_done - queue - run.count : run.kernels_done - run.count]
    return bool((abs(now - before - shift[..., None]) <= least[..., None]).all())


def _last(run: Run, launches: Launches, period: Floats, steps: int) -> Steady:
    """The steady state of the last steps. A kernel right after a sync waited for the sync."""
    span = run.idle[..., run.kernels_done - steps * run.count : run.kernels_done]
    idle = span.reshape(*span.shape[:-1], steps, run.count).mean(axis=-2)
    after = np.roll(launches.sync_after, 1)
    total = idle.sum(axis=-1)
    return Steady(period, total, idle[..., after].sum(axis=-1))
