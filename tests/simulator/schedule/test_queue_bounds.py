"""Detours through the launch queue, compared one by one with the direct path."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from simulator.schedule.blocks_of_kernels import straight
from simulator.schedule.steady_state import bounds
from simulator.schedule.timeline import Clock, Floats, Launches

US = 1e-6
NUDGE = 1e-5  # as a share of the GPU's time in a step


class Paths:
    """The direct paths of host and GPU over several steps, starting with the first kernel of the
    first step."""

    def __init__(self, host: Floats, duration: Floats, tail: float, gap: float, steps: int) -> None:
        self.count = host.size
        self.issued = np.concatenate(
            [np.cumsum(host) + step * (host.sum() + tail) for step in range(steps)]
        )
        slots = np.tile(duration + gap, steps)
        self.before = np.cumsum(slots) - slots
        self.step_s, self.slots_s = host.sum() + tail, float((duration + gap).sum())

    def spare_of_gpu(self, depth: int) -> float:
        """The smallest time by which the GPU is slower from k to m than the host, which begins
        `depth` kernels after k."""
        return min(
            (self.before[m] - self.before[k]) - (self.issued[m] - self.issued[k + depth])
            for k in range(self.count)
            for m in range(k + depth, k + depth + 2 * self.count)
        )

    def spare_of_host(self, depth: int) -> float:
        """The smallest time by which the host is slower from j to `depth` kernels after m than the
        GPU from j to m."""
        return min(
            (self.issued[m + depth] - self.issued[j]) - (self.before[m] - self.before[j])
            for j in range(self.count)
            for m in range(j, j + 2 * self.count)
        )

    def spare(self, depth: int) -> float:
        by_gpu = self.slots_s >= self.step_s
        return self.spare_of_gpu(depth) if by_gpu else self.spare_of_host(depth)


def drawn(seed: int, count: int, ratio: float) -> tuple[Floats, Floats, float]:
    draw = np.random.default_rng(seed)
    host, duration = draw.uniform(0, 5 * US, count), draw.uniform(0, 5 * US, count) * ratio
    return host, duration, float(draw.uniform(0, 2 * count * US))


@pytest.mark.parametrize("depth", [1, 3, 10, 11, 12, 15, 21, 22])
def test_bounds_hold_where_no_detour_is_as_long_as_the_direct_path(depth: int) -> None:
    """The latency is drawn near the smallest spare time, so that it is decisive."""
    decided = {True: 0, False: 0}
    for seed, ratio in product(range(6), (0.1, 0.6, 1.0, 2.0, 20.0)):
        host, duration, tail = drawn(100 * depth + seed, 11, ratio)
        gap = 0.3 * US
        paths = Paths(host, duration, tail, gap, steps=6)
        spare = paths.spare(depth) - NUDGE * paths.slots_s
        if spare <= 0:
            work = Launches(host, duration, np.zeros(11, np.bool_), tail)
            assert not bounds(work, Clock(0.0, gap, 0.0, depth)).period or depth >= 22
            continue
        slower = max(paths.step_s, paths.slots_s)
        for latency in (0.999 * spare, 1.001 * spare):
            work = Launches(host, duration, np.zeros(11, np.bool_), tail)
            known = bounds(work, Clock(latency, gap, 0.0, depth))
            is_deep = depth >= 11 and (depth // 11 - 1) * slower >= latency
            assert bool(known.period) == (latency < spare or is_deep), (seed, ratio)
            assert bool(known.alone) == (bool(known.period) or depth >= 11)
            decided[bool(known.period)] += 1
    assert decided[True] > 5 and (decided[False] > 2 or depth >= 21)


def test_the_nudge_is_a_hundred_thousandth_of_the_gpus_time() -> None:
    host, duration, tail = drawn(3, 11, 3.0)
    paths = Paths(host, duration, tail, 0.0, steps=6)
    no_sync = np.zeros(11, np.bool_)
    for share, holds in ((0.9e-5, False), (1.1e-5, True)):
        latency = paths.spare(5) - share * paths.slots_s
        known = bounds(Launches(host, duration, no_sync, tail), Clock(latency, 0.0, 0.0, 5))
        assert bool(known.period) is holds
    # A host that is faster by less than this could become the slower one.
    for share, holds in ((0.9e-5, False), (1.1e-5, True)):
        even = Launches(np.full(11, US), np.full(11, US), no_sync, share * 11 * US)
        assert bool(bounds(even, Clock(0.0, 0.0, 0.0, 5)).period) is holds


@pytest.mark.parametrize("queue_steps", [1, 2, 3])
def test_a_deep_queue_saves_whole_steps_of_the_slower_side(queue_steps: int) -> None:
    # 11 kernels of 9 µs: with a queue of n steps, a detour saves n - 1 times 99 µs. The host's last
    # launch is so late that no comparison holds.
    host = np.append(np.full(10, US), 80 * US)
    work = Launches(host, np.full(11, 9 * US), np.zeros(11, np.bool_), 0.0)
    border = (queue_steps - 1) * 99 * US
    for latency, holds in ((border, True), (border + 200 * US, False)):
        known = bounds(work, Clock(latency, 0.0, 0.0, 11 * queue_steps))
        assert bool(known.period) is holds, latency
        assert known.alone


@pytest.mark.parametrize("queue_steps", [2, 3])
def test_a_latency_of_exactly_the_whole_steps_is_saved(queue_steps: int) -> None:
    """In powers of two, so that sums are exact: 8 kernels of 2¹⁷ units are 2²⁰. The host takes one
    unit more, less than a nudge, so no side is the slower one and no other comparison counts."""
    unit = 2.0**-40
    host = np.full(8, 2**17 * unit)
    host[-1] += unit
    work = Launches(host, np.full(8, 2**17 * unit), np.zeros(8, np.bool_), 0.0)
    border = (queue_steps - 1) * (2**20 + 1) * unit
    for latency, holds in ((border, True), (border + unit, False)):
        assert bool(bounds(work, Clock(latency, 0.0, 0.0, 8 * queue_steps)).period) is holds


@pytest.mark.layered(5)
@pytest.mark.parametrize(("ratio", "tail_us"), [(5.0, 0), (3.0, 4000)])
@pytest.mark.parametrize("depth", [64, 100, 300, 400, 640])
def test_blocks_are_sure_up_to_the_work_of_two_blocks(
    depth: int, ratio: float, tail_us: float
) -> None:
    """The GPU is the slower side, or the host because of its work after the last launch."""
    count, sure_points = 300, 0
    for seed in range(8):
        host, duration, _ = drawn(1000 + seed, count, ratio)
        tail, gap = tail_us * US, 0.1 * US
        paths = Paths(host, duration, tail, gap, steps=6)
        spare = paths.spare(depth) - NUDGE * paths.slots_s
        two_blocks_s = 128 * max(host.mean(), duration.mean() + gap) * 1.3
        slower = max(paths.step_s, paths.slots_s)
        for latency in (max(spare, 0.0) + US, spare - two_blocks_s):
            if latency < 0:
                continue
            clock, no_sync = Clock(latency, gap, 0.0, depth), np.zeros(count, np.bool_)
            launched = Launches(host, np.zeros(0), no_sync, tail)
            sure, alone_s = straight(launched, clock, np.arange(count), duration[:, None])
            is_deep = (depth // count - 1) * slower >= latency
            assert sure.item() == (latency < spare or is_deep), (seed, latency)
            sure_points += sure.item()
            # The first kernel starts when its launch arrives; the GPU is never idle afterwards.
            end_s = host[0] + latency + paths.slots_s - gap
            assert alone_s.item() >= end_s - 1e-12
    assert sure_points >= 4 or depth <= 2 * 64
