"""The steady state: the period of steps that run back to back, after the first ones.

Without syncs, and with a queue that never fills, a step takes the time of the slower of host and
GPU. Every path from launch to launch runs along the host (H seconds per step), crosses once to the
GPU, and continues there (G seconds per step). A queue of `depth` launches adds paths back to the
host, each `depth` kernels ahead. If that is two steps or more, these paths are never the longest. A
detour over the host and back saves at least ⌊depth / kernels⌋ − 1 steps of the slower side, and
costs one latency. With a shorter queue every detour is compared with the path along the slower side
(`bounds`). Otherwise steps are run until one equals the previous one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.schedule.timeline import Clock, Floats, Launches, Run

STEPS = 8  # maximum number of steps to run
SETTLED = 4  # last steps that count as the steady state if no two steps are equal
_SAME = 2e-13  # relative to the time so far: the rounding difference of two equal steps


@dataclass(frozen=True)
class Steady:
    """The steady state: `period_s` of a step [...], `idle_s` of the GPU in it, and `after_sync_s`,
    the part of the idle time that follows a sync."""

    period_s: Floats
    idle_s: Floats
    after_sync_s: Floats


@dataclass(frozen=True)
class Bounds:
    """True where no path through a full queue is the longest [...]: for a `period`, with or without
    nudged kernels, and for a step `alone`. `lead_s` is the longest path from the host to the GPU,
    minus the GPU's work before it; `slots_s` is all work of the GPU in a step."""

    period: NDArray[np.bool_]
    alone: NDArray[np.bool_]
    lead_s: Floats
    slots_s: Floats


NUDGED = 1e-5
"""Slack as a share of the GPU's time, far above the small changes from which a step's shares are
computed."""


def bounds(launches: Launches, clock: Clock) -> Bounds:
    """Compare every detour through the queue with the direct path.

    One detour leaves the GPU at kernel k, reaches the host `depth` kernels later, follows it to m,
    and returns. A comparison with the minimum of (GPU − host) over all m shows whether the GPU
    itself takes at least as long from k to m. The other detour leaves the host at j, and returns
    `depth` kernels after m.
    """
    host, duration = np.broadcast_arrays(launches.host_s, launches.duration_s)
    lead, count = host.shape[:-1], host.shape[-1]
    tail, latency, gap = (
        np.broadcast_to(np.asarray(v, float), lead)[..., None]
        for v in (launches.tail_s, clock.latency_s, clock.gap_s)
    )
    # A broadcast host has one row for all machines.
    issued_s = np.cumsum(launches.host_s, axis=-1)
    after = np.cumsum(duration + gap, axis=-1)
    slots, step = after[..., -1:], issued_s[..., -1:] + tail
    before = np.zeros(after.shape)  # the GPU's work before a kernel
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
        """The values `depth` kernels later, given that they grow by `each` per step."""
        return np.concatenate(
            [values[..., rest:] + turns * each, values[..., :rest] + (turns + 1) * each], axis=-1
        )

    def least(values: Floats, each: Floats) -> Floats:
        """The minimum over each kernel and all later ones, over all steps, of values that do not
        decrease from step to step."""
        on = np.minimum.accumulate(values[..., ::-1], axis=-1)[..., ::-1]
        return np.minimum(on, on[..., :1] + each)

    grows, spare = (slots - step), slack[..., 0]
    later_s = later(issued_s, issued_s[..., -1:] + np.asarray(launches.tail_s)[..., None]) - before
    by_gpu, by_host = grows[..., 0] >= 0, -grows[..., 0] >= NUDGED * slots[..., 0]
    if by_gpu.any():
        earliest_s = later(least(ahead_s, grows), grows)
        earliest_s += later_s
        by_gpu = by_gpu & (earliest_s.min(axis=-1) >= spare)
    if by_host.any():
        earliest_s = least(later_s, -grows)
        earliest_s += ahead_s
        by_host = by_host & (earliest_s.min(axis=-1) >= spare)
    straight = by_gpu | by_host
    return Bounds(straight, straight | deep, lead_s, slots[..., 0])


def alone(launches: Launches, clock: Clock, known: Bounds) -> Floats:
    """The time at which the GPU finishes a single step [...]."""
    slack_s = known.lead_s + known.slots_s - np.asarray(clock.gap_s)
    rest = np.flatnonzero(~known.alone.ravel())
    if rest.size:
        rows = ~known.alone
        selected, own = _rows(launches, clock, rows, known.alone.shape)
        run = Run(selected, own, 1)
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
    """Run step by step. `never_full` means that no launch waits for room in the queue, because a
    sync drains the queue before it fills."""
    run = Run(launches, replace(clock, depth=1 << 30) if never_full else clock, STEPS)
    ends: list[Floats] = []
    hosts: list[Floats] = []
    while run.done < STEPS:
        run.step()
        ends.append(run.gpu_s[..., 0])
        hosts.append(run.host_s[..., 0])
        looked_at = 1 < run.done <= STEPS - SETTLED + 1  # a later state would leave too few steps
        if looked_at and _settled(run, ends, hosts, 0 if never_full else clock.depth):
            return _last(run, launches, ends[-1] - ends[-2], 1)
    return _last(run, launches, (ends[-1] - ends[-1 - SETTLED]) / SETTLED, SETTLED)


def _settled(run: Run, ends: list[Floats], hosts: list[Floats], queue: int) -> bool:
    """Whether the state for the next step equals the state one step earlier, shifted in time. The
    state is the times at which host and GPU are free, and the starts of the kernels in the
    queue."""
    shift = ends[-1] - ends[-2]
    tolerance = _SAME * ends[-1]
    if (
        queue + run.count > run.kernels_done
        or (abs(hosts[-1] - hosts[-2] - shift) > tolerance).any()
    ):
        return False
    now = run.start[..., run.kernels_done - queue : run.kernels_done]
    before = run.start[..., run.kernels_done - queue - run.count : run.kernels_done - run.count]
    return bool((abs(now - before - shift[..., None]) <= tolerance[..., None]).all())


def _last(run: Run, launches: Launches, period: Floats, steps: int) -> Steady:
    """The steady state of the last steps. The idle time before a kernel that follows a sync is
    caused by the sync."""
    span = run.idle[..., run.kernels_done - steps * run.count : run.kernels_done]
    idle = span.reshape(*span.shape[:-1], steps, run.count).mean(axis=-2)
    after = np.roll(launches.sync_after, 1)
    total = idle.sum(axis=-1)
    return Steady(period, total, idle[..., after].sum(axis=-1))
