"""The schedule against a slow loop over its two recurrences, and against hand-computed times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.schedule.timeline import Clock, Launches, Schedule, schedule

US = 1e-6


def slow(launches: Launches, clock: Clock, repeat: int) -> tuple[list[float], ...]:
    """Issue, start, end and idle times, one kernel at a time."""
    issue: list[float] = []
    start: list[float] = []
    end: list[float] = []
    idle: list[float] = []
    host = 0.0
    for step in range(repeat):
        for row, work in enumerate(launches.host_s.tolist()):
            if row == 0 and step > 0:
                host += launches.tail_s
            k = len(start)
            host += work
            if k >= clock.depth:  # the queue has room once that kernel has started
                host = max(host, start[k - clock.depth])
            free = end[-1] + clock.gap_s if end else 0.0
            issue.append(host)
            start.append(max(free, host + clock.latency_s))
            end.append(start[-1] + float(launches.duration_s[row]))
            idle.append(start[-1] - free)
            if launches.sync_after[row]:
                host = max(host, end[-1]) + clock.sync_s
    return issue, start, end, idle, [host + launches.tail_s]


def launches(
    host: list[float], duration: list[float], syncs: tuple[int, ...] = (), tail: float = 0.0
) -> Launches:
    after = np.zeros(len(host), np.bool_)
    after[list(syncs)] = True
    return Launches(np.array(host, float), np.array(duration, float), after, tail)


TIMES = st.floats(0.0, 1e-3, allow_subnormal=False)
ROWS = st.lists(st.tuples(TIMES, TIMES, st.booleans()), min_size=1, max_size=40)
CLOCKS = st.builds(Clock, TIMES, TIMES, TIMES, st.integers(1, 12))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(rows=ROWS, clock=CLOCKS, tail=TIMES, repeat=st.integers(1, 4), density=st.integers(0, 2))
def test_it_is_the_recurrences(
    rows: list[tuple[float, float, bool]], clock: Clock, tail: float, repeat: int, density: int
) -> None:
    syncs = tuple(k for k, row in enumerate(rows) if row[2] and density and k % density == 0)
    work = launches([row[0] for row in rows], [row[1] for row in rows], syncs, tail)
    timeline = schedule(work, clock, repeat)
    issue, start, end, idle, host_end = slow(work, clock, repeat)
    np.testing.assert_allclose(timeline.issue_s, issue, rtol=0, atol=1e-12)
    np.testing.assert_allclose(timeline.start_s, start, rtol=0, atol=1e-12)
    np.testing.assert_allclose(timeline.end_s, end, rtol=0, atol=1e-12)
    np.testing.assert_allclose(timeline.idle_s, idle, rtol=0, atol=1e-12)
    assert timeline.host_end_s == pytest.approx(host_end[0], abs=1e-12)
    # the GPU is either busy, idle or in a gap between two kernels
    gaps = clock.gap_s * (len(start) - 1)
    assert sum(end) - sum(start) + timeline.idle_s.sum() + gaps == pytest.approx(end[-1], abs=1e-12)
    assert (timeline.idle_s >= -1e-15).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(rows=ROWS, clock=CLOCKS, tail=TIMES)
def test_twice_as_much_of_everything_takes_twice_as_long(
    rows: list[tuple[float, float, bool]], clock: Clock, tail: float
) -> None:
    syncs = tuple(k for k, row in enumerate(rows) if row[2])
    host, duration = [row[0] for row in rows], [row[1] for row in rows]
    once = schedule(launches(host, duration, syncs, tail), clock, 3)
    double = Clock(2 * clock.latency_s, 2 * clock.gap_s, 2 * clock.sync_s, clock.depth)
    work = launches([2 * x for x in host], [2 * x for x in duration], syncs, 2 * tail)
    twice = schedule(work, double, 3)
    for name in ("issue_s", "start_s", "end_s", "idle_s"):
        np.testing.assert_array_equal(getattr(twice, name), 2 * getattr(once, name))
    assert twice.host_end_s == 2 * once.host_end_s


def in_us(timeline: Schedule) -> dict[str, list[float]]:
    names = ("issue_s", "start_s", "end_s", "idle_s")
    return {name: np.round(getattr(timeline, name) / US, 6).tolist() for name in names}


def test_a_slow_host_leaves_the_gpu_idle() -> None:
    # the host takes 10 µs per launch, which arrives 2 later; a kernel takes 3
    clock = Clock(2 * US, 1 * US, 0.0, 100)
    timeline = schedule(launches([10 * US] * 3, [3 * US] * 3), clock)
    assert in_us(timeline) == {
        "issue_s": [10, 20, 30],
        "start_s": [12, 22, 32],
        "end_s": [15, 25, 35],
        # 12 before the first kernel; then from 15 + 1 to 22, and from 25 + 1 to 32
        "idle_s": [12, 6, 6],
    }


def test_a_slow_gpu_is_never_idle_once_it_began() -> None:
    clock = Clock(2 * US, 1 * US, 0.0, 100)
    timeline = schedule(launches([1 * US] * 3, [30 * US] * 3), clock)
    assert in_us(timeline) == {
        "issue_s": [1, 2, 3],
        "start_s": [3, 34, 65],
        "end_s": [33, 64, 95],
        "idle_s": [3, 0, 0],
    }
    assert timeline.host_end_s == pytest.approx(3 * US)


def test_a_full_queue_stops_the_host() -> None:
    # two launches fit: the third is issued when the first kernel starts, and so on
    timeline = schedule(launches([1 * US] * 4, [30 * US] * 4), Clock(2 * US, 0.0, 0.0, 2))
    assert in_us(timeline)["start_s"] == [3, 33, 63, 93]
    assert in_us(timeline)["issue_s"] == [1, 2, 3, 33]


def test_a_sync_makes_the_host_wait_for_the_gpu() -> None:
    clock = Clock(2 * US, 0.0, 5 * US, 100)
    timeline = schedule(launches([1 * US] * 3, [30 * US] * 3, syncs=(1,)), clock)
    # the second kernel ends at 63; the host continues 5 later; 1 to launch, 2 to arrive
    assert in_us(timeline) == {
        "issue_s": [1, 2, 69],
        "start_s": [3, 33, 71],
        "end_s": [33, 63, 101],
        "idle_s": [3, 0, 8],
    }


def test_a_sync_at_the_end_is_the_hosts() -> None:
    clock = Clock(2 * US, 0.0, 5 * US, 100)
    timeline = schedule(launches([1 * US], [30 * US], syncs=(0,), tail=4 * US), clock)
    # the GPU ends at 33; 5 for the sync, 4 for the work after it
    assert timeline.host_end_s == pytest.approx(42 * US)


def test_steps_follow_each_other_with_the_tail_between() -> None:
    clock = Clock(0.0, 0.0, 0.0, 100)
    timeline = schedule(
        launches([10 * US, 10 * US], [1 * US, 1 * US], tail=7 * US), clock, repeat=3
    )
    # in each of three steps 10 and 10, and between steps a tail of 7
    assert in_us(timeline)["issue_s"] == [10, 20, 37, 47, 64, 74]
    assert timeline.host_end_s == pytest.approx(81 * US)


def test_no_kernels_is_the_hosts_work_alone() -> None:
    timeline = schedule(launches([], [], tail=3 * US), Clock(1.0, 1.0, 1.0, 4), repeat=5)
    assert timeline.end_s.size == 0 and timeline.host_end_s == pytest.approx(15 * US)


def test_more_of_anything_is_never_sooner() -> None:
    r = np.random.default_rng(7)
    host, duration = r.uniform(0, 20 * US, 60), r.uniform(0, 20 * US, 60)
    base = schedule(launches(list(host), list(duration)), Clock(US, US, US, 5)).end_s
    for more in (
        schedule(launches(list(host * 1.1), list(duration)), Clock(US, US, US, 5)),
        schedule(launches(list(host), list(duration * 1.1)), Clock(US, US, US, 5)),
        schedule(launches(list(host), list(duration)), Clock(2 * US, US, US, 5)),
        schedule(launches(list(host), list(duration)), Clock(US, 2 * US, US, 5)),
        schedule(launches(list(host), list(duration)), Clock(US, US, US, 4)),
        schedule(launches(list(host), list(duration), syncs=(30,)), Clock(US, US, US, 5)),
    ):
        assert (more.end_s >= base - 1e-15).all()
