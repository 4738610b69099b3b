"""The steady state against eight steps run in full, and the shortcut's condition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.schedule.steady_state import Steady, _run, _settled, alone, bounds, steady
from simulator.schedule.timeline import Clock, Floats, Launches, Run, schedule

US = 1e-6
STEPS, SETTLED = 8, 4  # eight steps run; the last four are the steady state
TIMES = st.floats(0.0, 1e-3, allow_subnormal=False)
ROWS = st.lists(st.tuples(TIMES, TIMES, st.booleans()), min_size=1, max_size=30)
CLOCKS = st.builds(Clock, TIMES, TIMES, TIMES, st.integers(1, 100))


def in_full(launches: Launches, clock: Clock) -> tuple[float, float, float]:
    """Period, idle time, and idle time after syncs, over the last four of eight steps."""
    run = schedule(launches, clock, STEPS)
    count = launches.host_s.size
    ends = run.end_s[count - 1 :: count]
    idle = run.idle_s.reshape(STEPS, count)[-SETTLED:].mean(axis=0)
    after = np.roll(launches.sync_after, 1)
    return (ends[-1] - ends[-1 - SETTLED]) / SETTLED, idle.sum(), idle[after].sum()


def launches(rows: list[tuple[float, float, bool]], tail: float, synced: bool) -> Launches:
    host, duration, syncs = (np.array(column) for column in zip(*rows, strict=True))
    return Launches(host, duration, syncs & synced, tail)


def same(result: Steady, expected: tuple[float, float, float]) -> None:
    got = float(result.period_s), float(result.idle_s), float(result.after_sync_s)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-13)


@settings(max_examples=2000, deadline=None, derandomize=True)
@given(rows=ROWS, clock=CLOCKS, tail=TIMES, synced=st.booleans())
def test_it_is_eight_steps_run_in_full(
    rows: list[tuple[float, float, bool]], clock: Clock, tail: float, synced: bool
) -> None:
    work = launches(rows, tail, synced)
    same(steady(work, clock), in_full(work, clock))


def test_many_machines_equal_each_machine_alone() -> None:
    r = np.random.default_rng(3)
    for syncs in (np.zeros(40, np.bool_), np.arange(40) % 17 == 5):
        host = r.uniform(0, 10 * US, (30, 40))
        duration = r.uniform(0, 10 * US, (30, 40)) * r.uniform(0, 3, (30, 1))
        latency, gap, sync, tail = r.uniform(0, 4 * US, (4, 30))
        latency[:5] *= 1000  # longer than a step: the queue matters for the first five
        for depth in (3, 64, 100, 1 << 30):
            settled = steady(
                Launches(host, duration, syncs, tail), Clock(latency, gap, sync, depth)
            )
            for i in range(30):
                alone = Launches(host[i], duration[i], syncs, tail[i])
                clock = Clock(latency[i], gap[i], sync[i], depth)
                same(Steady(*(x[i] for x in vars(settled).values())), in_full(alone, clock))


def test_a_queue_two_steps_long_does_not_matter_and_a_shorter_one_does() -> None:
    # the first half is slow on the host, the second on the GPU: 10 + 10 kernels of 1 or 9 µs
    host = np.repeat([9 * US, 1 * US], 10)
    work = Launches(host, host[::-1].copy(), np.zeros(20, np.bool_), 0.0)
    period = 100 * US  # 10·9 + 10·1, on the host and on the GPU
    for depth in (40, 60, 1 << 30):
        settled = steady(work, Clock(5 * US, 0.0, 0.0, depth))
        assert float(settled.period_s) == pytest.approx(period)
    short = steady(work, Clock(5 * US, 0.0, 0.0, 5))
    # In µs: kernel 20 is launched when kernel 15 starts. Until kernel 15 of the next step starts,
    # the host works 9·9 on its slow half, the launch takes 5 to arrive, the last kernel of that
    # half takes 1, and five slow kernels take 5·9.
    assert float(short.period_s) == pytest.approx(132 * US)


@pytest.mark.parametrize(
    ("host_us", "kernel_us", "depth", "steps"),
    [
        # 20 kernels of 9 µs fill a queue of 5 in the first step and a queue of 30 in the second;
        # the next step repeats the second
        (1, 9, 5, 2),
        (1, 9, 30, 3),
        # the sixth step would be the first that repeats, which leaves too few for a mean
        (1, 9, 70, 5),
        (1, 9, 74, 8),
        # the host is the slower one: two steps show two states of a queue of 20
        (9, 1, 20, 2),
        (0, 0, 20, 2),  # nothing takes time
    ],
)
def test_a_step_that_repeats_is_not_run_in_full(
    host_us: int, kernel_us: int, depth: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, kernel = np.full(20, host_us * US), np.full(20, kernel_us * US)
    work = Launches(host, kernel, np.zeros(20, np.bool_), 0.0)
    run_steps: list[int] = []
    step = Run.step
    monkeypatch.setattr(Run, "step", lambda run: (run_steps.append(run.done), step(run))[1])
    latency_s = 5 * US if host_us else 0.0
    settled = _run(work, Clock(latency_s, 0.0, 0.0, depth), never_full=False)
    assert float(settled.period_s) == pytest.approx(20 * max(host_us, kernel_us) * US)
    assert len(run_steps) == steps


def test_the_host_alone() -> None:
    nothing = Launches(np.zeros(0), np.zeros(0), np.zeros(0, np.bool_), 7 * US)
    assert float(steady(nothing, Clock(1.0, 1.0, 1.0, 4)).period_s) == 7 * US


@pytest.mark.parametrize(("depth", "last_issue_us"), [
    # if the host is slow at the last launch, the GPU waits for it
    (1 << 30, 19 + 300), (60, 19 + 300),
    # launch 7 of the next step waits for kernel 0 of this step, which was issued long before
    (27, 19 + 300),
    # the queue has room for launch 18 when kernel 11 starts
    (7, 6 + 11 * 10 + 300),
])  # fmt: skip
def test_a_single_step_ends_after_its_longest_path_to_the_gpu(
    depth: int, last_issue_us: int
) -> None:
    # the host takes 1 µs per launch, which arrives after 5; a kernel takes 9, and a gap 1
    work = Launches(np.full((1, 20), US), np.full((1, 20), 9 * US), np.zeros(20, np.bool_), 2 * US)
    clock = Clock(5 * US, US, 0.0, depth)
    known = bounds(work, clock)
    assert known.period and known.alone
    # the first kernel starts after 1 + 5; then 20 kernels of 10 each, without the gap after the
    # last
    assert known.lead_s.item() == pytest.approx(6 * US)
    assert known.slots_s.item() == pytest.approx(200 * US)
    assert alone(work, clock, known).item() == pytest.approx(205 * US)
    host_s = np.append(np.full(19, US), 300 * US)[None]
    late = Launches(host_s, work.duration_s, work.sync_after, 2 * US)
    known = bounds(late, clock)
    # if the queue never fills: 19 + 300 + 5 µs, minus 190 for the 19 kernels before the last
    assert known.lead_s.item() == pytest.approx((324 - 190) * US)
    assert alone(late, clock, known).item() == pytest.approx((last_issue_us + 5 + 9) * US)


def test_no_step_with_a_sync_has_bounds() -> None:
    work = Launches(np.full((1, 4), US), np.full((1, 4), 9 * US), np.arange(4) == 1, 0.0)
    known = bounds(work, Clock(5 * US, US, 3 * US, 100))
    assert not known.period and not known.alone
    # launch 1 + 5, kernel 9, gap 1, kernel 9, sync 3; then launch 1 + 5, kernel 9, gap 1, kernel 9
    end_s = alone(work, Clock(5 * US, US, 3 * US, 100), known).item()
    assert end_s == pytest.approx((1 + 5 + 9 + 1 + 9 + 3 + 1 + 5 + 9 + 1 + 9) * US)


@pytest.mark.parametrize(("late", "settled"), [(0.0, True), (3.8e-13, True), (4.2e-13, False)])
@pytest.mark.parametrize("part", ["host", "kernel", "early host"])
def test_steps_are_equal_up_to_the_rounding_of_the_time_so_far(
    part: str, late: float, settled: bool
) -> None:
    """The second step ends after 2 s; 2e-13 of this is the rounding of its times."""
    work = Launches(np.full(4, 0.25), np.full(4, 0.125), np.zeros(4, np.bool_), 0.0)
    run = Run(work, Clock(0.0, 0.0, 0.0, 2), 2)
    ends, hosts = list[Floats](), list[Floats]()
    for _ in range(2):
        run.step()
        ends.append(run.gpu_s[..., 0])
        hosts.append(run.host_s[..., 0])
    assert ends[1] == 2.125 and hosts[1] == 2.0
    if part == "kernel":
        run.start[7] += late * 2.125 / 2
    else:
        hosts[1] = hosts[1] + (late if part == "host" else -late) * 2.125 / 2
    assert _settled(run, ends, hosts, 2) is settled
    # of a queue of 5, the first step has not all starts
    assert not _settled(run, ends, hosts, 5)
