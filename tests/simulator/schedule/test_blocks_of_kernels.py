"""The bounds of blocks of kernels hold for every kernel."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.schedule.blocks_of_kernels import straight
from simulator.schedule.steady_state import steady
from simulator.schedule.timeline import Clock, Launches, schedule

US = 1e-6
NO_SYNC = np.zeros(1200, np.bool_)


@pytest.mark.parametrize("depth", [3, 300, 700, 1199, 1200, 1201, 3000, 1 << 30])
def test_sure_points_are_as_fast_as_the_slower_of_host_and_gpu(depth: int) -> None:
    draw = np.random.default_rng(depth)
    class_of = draw.integers(0, 9, 1200)
    host_s = draw.uniform(0, 5 * US, 1200)
    # GPUs from much faster than the host to much slower, in steady state and in single steps
    times = draw.uniform(0, 5 * US, (9, 40)) * np.logspace(-2, 2, 40)
    sure_points = 0
    for latency, gap in ((0.0, 0.0), (4 * US, US), (2e-3, 0.1 * US)):
        clock = Clock(latency, gap, 3 * US, depth)
        launched = Launches(host_s, np.zeros(0), NO_SYNC, 7 * US)
        sure, alone_s = straight(launched, clock, class_of, times)
        sure_points += int(sure.sum())
        for point in np.flatnonzero(sure):
            step = Launches(host_s, times[class_of, point], NO_SYNC, 7 * US)
            slower = max(host_s.sum() + 7 * US, step.duration_s.sum() + 1200 * gap)
            assert float(steady(step, clock).period_s) == pytest.approx(slower, rel=1e-9)
            assert alone_s[point] == pytest.approx(schedule(step, clock).end_s[-1], rel=1e-9)
    assert sure_points > 40 or depth < 64


def test_a_gpu_exactly_as_slow_as_the_host_is_sure_while_the_queue_has_room() -> None:
    # 1,200 kernels of 4 units take exactly as long as 1,200 launches of 1 unit and a tail of 3,600
    unit = 2.0**-20
    launched = Launches(np.full(1200, unit), np.zeros(0), NO_SYNC, 3600 * unit)
    clock = Clock(5 * unit, 0.0, 0.0, 1200)
    class_of = np.zeros(1200, np.int64)
    sure, alone_s = straight(launched, clock, class_of, np.array([[4 * unit]]))
    assert sure.all()
    step = Launches(launched.host_s, np.full(1200, 4 * unit), NO_SYNC, launched.tail_s)
    assert float(steady(step, clock).period_s) == 4800 * unit
    assert alone_s.item() == pytest.approx((1 + 5 + 4800) * unit)


def test_a_step_that_waits_has_no_bounds() -> None:
    syncs = np.arange(1200) == 150
    launched = Launches(np.full(1200, US), np.zeros(0), syncs, 0.0)
    clock = Clock(US, 0.0, US, 1 << 30)
    sure, _ = straight(launched, clock, np.zeros(1200, np.int64), np.full((1, 4), 9 * US))
    assert not sure.any()


def test_a_kernel_that_starts_late_within_a_block_makes_a_point_unsure() -> None:
    # the host is slow at the last launch, when the GPU has finished all others
    host_s = np.full(1200, US)
    host_s[-1] = 1e-3
    launched = Launches(host_s, np.zeros(0), NO_SYNC, 0.0)
    clock = Clock(US, 0.0, US, 1 << 30)
    sure, _ = straight(launched, clock, np.zeros(1200, np.int64), np.array([[0.1 * US]]))
    assert not sure.any()


@pytest.mark.parametrize("block", [0, 1, 2, 9, 17, 18])
def test_a_launch_that_is_late_in_any_block_makes_a_point_unsure(block: int) -> None:
    """A kernel takes 1.5 µs and its launch 1 µs: the GPU is ahead by less than the millisecond of
    the late launch. The last kernel of the block takes so long that the GPU never waits again."""
    host_s = np.full(1200, US)
    host_s[64 * block + 10] = 1e-3
    class_of = np.zeros(1200, np.int64)
    class_of[min(64 * block + 63, 1199)] = 1
    times = np.array([[1.5 * US], [1.0]])
    clock = Clock(US, 0.0, US, 1 << 30)
    sure, alone_s = straight(Launches(host_s, np.zeros(0), NO_SYNC, 0.0), clock, class_of, times)
    # within the first block, every kernel is compared
    assert sure.item() is (block == 0)
    if sure:
        step = Launches(host_s, times[class_of, 0], NO_SYNC, 0.0)
        assert alone_s.item() == pytest.approx(schedule(step, clock).end_s[-1], rel=1e-12)


@pytest.mark.parametrize(
    ("tail", "depth", "spare"),
    [
        # the GPU is the slower side: a queue of 320 saves 320·(4 − 1) units, and the first launch
        (0, 320, 961),
        # The host is, with a step of 3,840 units. From the first launch to 960 kernels after the
        # fifth block, the host takes 320 + 3,840 and the GPU 5·256 − 192 units.
        (3200, 960, 3073),
    ],
)
def test_a_latency_of_exactly_the_spare_time_is_sure(tail: int, depth: int, spare: int) -> None:
    """640 kernels of 4 units, each issued in 1 unit."""
    unit = 2.0**-20
    nudge, rounding = 1e-5 * 2560 * unit, 1e-9 * max(2560, 640 + tail) * unit
    launched = Launches(np.full(640, unit), np.zeros(0), NO_SYNC[:640], tail * unit)
    near = spare * unit - nudge - rounding
    latencies = (near + np.arange(-3, 4) * np.spacing(near)).tolist()
    border = max(value for value in latencies if value + nudge + rounding == spare * unit)
    for latency, holds in ((border, True), (float(np.nextafter(border, 1.0)), False)):
        clock = Clock(latency, 0.0, 0.0, depth)
        points = straight(launched, clock, np.zeros(640, np.int64), np.array([[4 * unit]]))
        assert points.exact.item() is holds


@pytest.mark.parametrize("queue_steps", [2, 3])
def test_whole_steps_of_the_queue_save_a_latency_as_long(queue_steps: int) -> None:
    """The host works before the first kernel only, and the GPU half as long in it and in a later
    one, so that a detour through the queue saves nothing but whole steps."""
    step_s = 2.0**-10
    host_s, class_of = np.zeros(640), np.ones(640, np.int64)
    host_s[0], class_of[[0, 400]] = step_s, 0
    times = np.array([[step_s / 2], [0.0]])
    launched = Launches(host_s, np.zeros(0), NO_SYNC[:640], 0.0)
    border = (queue_steps - 1) * step_s
    for latency, holds in ((border, True), (border * (1 + 2.0**-40), False)):
        clock = Clock(latency, 0.0, 0.0, 640 * queue_steps)
        sure, alone_s = straight(launched, clock, class_of, times)
        assert sure.item() is holds
        assert alone_s.item() == latency + 2 * step_s
