"""Steps are run one by one only where paths through the launch queue can be the longest."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.schedule.blocks_of_kernels import straight
from simulator.schedule.steady_state import steady
from simulator.schedule.timeline import Clock, Launches, Run

US = 1e-6


@pytest.fixture
def steps_run(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each step that is run."""
    each: list[int] = []
    step = Run.step
    monkeypatch.setattr(Run, "step", lambda run: (each.append(run.done), step(run))[1])
    return each


@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize("depth", [5, 20, 40])
def test_a_step_of_equal_kernels_needs_no_run(
    lead: tuple[int, ...], depth: int, steps_run: list[int]
) -> None:
    """20 kernels of 9 µs, each issued in 1 µs: 5 queued kernels keep the GPU busy for longer than
    a launch takes to arrive."""
    host, kernel = np.full((*lead, 20), US), np.full((*lead, 20), 9 * US)
    work = Launches(host, kernel, np.zeros(20, np.bool_), 0.0)
    assert np.asarray(steady(work, Clock(5 * US, 0.0, 0.0, depth)).period_s) == pytest.approx(
        np.full(lead, 180 * US)
    )
    assert not steps_run


@pytest.mark.parametrize("queue_steps", [2, 3])
def test_a_latency_that_whole_steps_of_the_queue_save_needs_no_run(
    queue_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host works before the third of 8 kernels only, and the GPU in the sixth one only, so that
    a detour through the queue saves nothing but whole steps."""
    host, kernel = np.zeros((3, 8)), np.zeros((3, 8))
    host[:, 2] = kernel[:, 5] = 2.0**-10
    border = (queue_steps - 1) * 2.0**-10
    latency = np.array([border, border * (1 + 2.0**-30), 100 * border])
    rows: list[int] = []
    step = Run.step
    monkeypatch.setattr(Run, "step", lambda run: (rows.append(len(run.host_s)), step(run))[1])
    work = Launches(host, kernel, np.zeros(8, np.bool_), 0.0)
    settled = steady(work, Clock(latency, 0.0, 0.0, 8 * queue_steps))
    assert settled.period_s[0] == 2.0**-10
    assert set(rows) == {2}  # the machines with a longer latency


def test_only_machines_whose_queue_matters_are_run(steps_run: list[int]) -> None:
    """20 kernels of 9 µs with a queue of 5: a launch that arrives after 5 µs never delays the GPU,
    and one that arrives after 100 µs does, each time that the queue has room for 5 more."""
    host, kernel = np.full((2, 20), US), np.full((2, 20), 9 * US)
    work = Launches(host, kernel, np.zeros(20, np.bool_), 0.0)
    settled = steady(work, Clock(np.array([5 * US, 100 * US]), 0.0, 0.0, 5))
    # launch k + 5 has room when kernel k starts, and arrives 100 µs later: 4 times in a step
    assert settled.period_s == pytest.approx([180 * US, 400 * US])
    assert settled.idle_s == pytest.approx([0.0, 220 * US])
    assert steps_run


@pytest.mark.parametrize("depth", [20, 39, 1000])
def test_a_sync_in_a_step_no_longer_than_the_queue_drains_it(
    depth: int, steps_run: list[int]
) -> None:
    """The queue never fills, however long it is: the second of two equal steps is the steady
    state."""
    host, kernel = np.full(20, US), np.full(20, 9 * US)
    work = Launches(host, kernel, np.arange(20) == 19, 0.0)
    settled = steady(work, Clock(5 * US, 0.0, 3 * US, depth))
    # the host waits for 3 µs at the sync, issues the first launch in 1, which arrives 5 µs later
    assert float(settled.period_s) == pytest.approx((20 * 9 + 3 + 1 + 5) * US)
    assert float(settled.idle_s) == pytest.approx(9 * US)
    assert float(settled.after_sync_s) == pytest.approx(9 * US)
    assert len(steps_run) == 2


def test_a_step_in_which_nothing_takes_time_is_straight() -> None:
    """Every comparison is one of 0 with 0: no path through the queue is longer than another."""
    work = Launches(np.zeros(200), np.zeros(0), np.zeros(200, np.bool_), 0.0)
    points = straight(work, Clock(0.0, 0.0, 0.0, 200), np.zeros(200, np.int64), np.zeros((1, 2)))
    assert points.exact.all() and not points.alone_s.any()
