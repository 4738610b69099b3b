"""Kernels that are run together take the times that they take one by one."""

from random import Random

import pytest

from simulator.errors import InputError
from simulator.parallel import rank_state
from simulator.parallel.events import run
from simulator.parallel.plan import RankPlan, Transfer
from simulator.parallel.rank_state import Machine

COMPUTE, LINK, COPY = 0, 4, 2  # streams


def plan(rank, host_s, seconds, stream=None, after=None, parts=None, **other):
    count = len(seconds)
    return RankPlan(
        rank=rank,
        stream=stream or [COMPUTE] * count,
        host_s=host_s,
        seconds=seconds,
        after=after or [()] * count,
        parts=parts or [()] * count,
        channels=other.get("channels", [0] * count),
        blocks=other.get("blocks", [0.0] * count),
        sync_after=other.get("sync_after", [False] * count),
        tail_s=other.get("tail_s", 0.0),
    )


def test_a_full_launch_queue_stops_the_host_until_a_kernel_begins():
    """A queue of two launches, issued 1 s apart; kernels take 10 s and 1 s pass between them. The
    third launch waits for the start of the first (1 s), the fourth for that of the second (12 s),
    the fifth for that of the third (23 s)."""
    machine = Machine(latency_s=0.0, gap_s=1.0, sync_s=0.0, depth=2, units=132, beside=1.0)
    times = run([plan(0, [1.0] * 5, [10.0] * 5)], machine, 1)[0]
    assert times.issue_s == [1.0, 2.0, 3.0, 13.0, 24.0]
    assert times.start_s == [1.0, 12.0, 23.0, 34.0, 45.0]
    assert times.end_s == [11.0, 22.0, 33.0, 44.0, 55.0]


def random_plans(random):
    """Plans of one or two ranks with collectives, waits, copies and synchronizations."""
    ranks, count = random.choice([1, 1, 2]), random.randint(1, 120)
    often = {name: random.choice([0, 0.02, 0.1]) for name in ("collective", "wait", "copy", "sync")}
    stream, after, parts, newest = [], [], [], {}
    for k in range(count):
        collective = random.random() < often["collective"]
        own = LINK if collective else COPY if random.random() < often["copy"] else COMPUTE
        awaited = [place for other, place in newest.items() if other != own][:1]
        waits = collective or random.random() < often["wait"]
        stream.append(own)
        after.append(tuple(awaited) if waits else ())
        transfer = Transfer(("all", k), ranks, random.random() * 5e-5)
        parts.append((transfer,) if collective else ())
        newest[own] = k
    host_s, gpu_s = random.choice([1e-6, 3e-6, 1e-5]), random.choice([1e-6, 5e-6, 2e-5])
    return [
        plan(
            rank,
            [random.random() * host_s for _ in range(count)],
            [0.0 if each else random.random() * gpu_s for each in parts],
            stream,
            after,
            parts,
            channels=[16 if each else 0 for each in parts],
            blocks=[0.0 if each else random.choice([0.0, 64.0, 300.0]) for each in parts],
            sync_after=[random.random() < often["sync"] / 4 for _ in range(count)],
            tail_s=random.random() * 1e-5,
        )
        for rank in range(ranks)
    ]


def times(plans, machine):
    try:
        return run(plans, machine, 3)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("depth", [2, 4, 16, 64, 1 << 30])
def test_together_as_one_by_one(depth, monkeypatch):
    machine = Machine(2e-6, 1e-6, 5e-6, depth, 132, 1.3)
    for seed in range(40):
        plans = random_plans(Random(seed))
        together = times(plans, machine)
        with monkeypatch.context() as patch:
            patch.setattr(rank_state, "_plain", lambda plan, watched: [0] * len(watched))
            assert times(plans, machine) == together
