"""The launch queue of a host, and streams that wait for each other."""

from simulator.parallel.events import run
from simulator.parallel.plan import RankPlan
from simulator.parallel.rank_state import Machine

COMPUTE, COPY = 0, 2  # streams


def plan(host_s, seconds, stream=None, after=None):
    count = len(seconds)
    return RankPlan(
        rank=0,
        stream=stream or [COMPUTE] * count,
        host_s=host_s,
        seconds=seconds,
        after=after or [()] * count,
        parts=[()] * count,
        channels=[0] * count,
        blocks=[0.0] * count,
        sync_after=[False] * count,
        tail_s=0.0,
    )


def test_a_full_launch_queue_stops_the_host_until_a_kernel_begins():
    """A queue of two launches, issued 1 s apart; kernels take 10 s and 1 s pass between them. The
    third launch waits for the start of the first (1 s), the fourth for that of the second (12 s),
    the fifth for that of the third (23 s)."""
    machine = Machine(latency_s=0.0, gap_s=1.0, sync_s=0.0, depth=2, units=132, beside=1.0)
    times = run([plan([1.0] * 5, [10.0] * 5)], machine, 1)[0]
    assert times.issue_s == [1.0, 2.0, 3.0, 13.0, 24.0]
    assert times.start_s == [1.0, 12.0, 23.0, 34.0, 45.0]
    assert times.end_s == [11.0, 22.0, 33.0, 44.0, 55.0]


def test_a_kernel_begins_when_the_last_of_those_that_it_waits_for_ends():
    """Kernels 0 to 2 run on one stream from 0, 2 and 4 s for 1 s each; kernel 3 on another stream
    waits for 0 and 2, and begins at 5 s; kernel 4 begins after it and a gap of 1 s, at 7 s."""
    machine = Machine(latency_s=0.0, gap_s=1.0, sync_s=0.0, depth=1024, units=132, beside=1.0)
    stream = [COMPUTE, COMPUTE, COMPUTE, COPY, COPY]
    after = [(), (), (), (0, 2), ()]
    times = run([plan([0.0] * 5, [1.0] * 5, stream, after)], machine, 1)[0]
    assert times.start_s == [0.0, 2.0, 4.0, 5.0, 7.0]
    assert times.end_s == [1.0, 3.0, 5.0, 6.0, 8.0]
