"""Kernels that run in a stretch have the times that they have one by one."""

from dataclasses import replace
from random import Random

import pytest

from simulator.parallel.events import run
from simulator.parallel.plan import RankPlan, Transfer
from simulator.parallel.plan_shape import shape_of
from simulator.parallel.rank_state import Machine

STEPS = 3


def random_plan(rank: int, ranks: int, count: int, random: Random, host_s: float) -> RankPlan:
    """Kernels on a main stream with few waits, and collectives of all ranks on a second stream,
    some of which a later kernel of the main stream waits for."""
    order = Random(count)  # equal on all ranks: places of collectives
    collective = [order.random() < 0.12 for _ in range(count)]
    after: list[tuple[int, ...]] = [()] * count
    for k in range(1, count):
        follows = collective[k - 1]
        waits = order.random() < 0.5 if follows else collective[k]
        if waits:
            after[k] = (k - 1,)
    numbers = iter(range(count))
    return RankPlan(
        rank=rank,
        stream=[1 if each else 0 for each in collective],
        host_s=[random.uniform(0.0, 2 * host_s) for _ in range(count)],
        seconds=[0.0 if each else random.uniform(1.0, 5.0) for each in collective],
        after=after,
        parts=[
            (Transfer(("all", next(numbers)), ranks, 4.0 + order.random()),) if each else ()
            for each in collective
        ],
        channels=[24 if each else 0 for each in collective],
        blocks=[random.choice([0.0, 100.0, 300.0]) for _ in range(count)],
        sync_after=[random.random() < 0.02 and not each for each in collective],
        tail_s=random.uniform(0.0, host_s),
    )


def one_by_one(plan: RankPlan) -> RankPlan:
    """The plan without stretches: every kernel is watched."""
    shape = shape_of(plan.stream, plan.after, plan.sync_after, [not parts for parts in plan.parts])
    zero = [0] * len(plan.stream)
    alone = replace(shape, watched=[True] * len(plan.stream), plain=zero, issuable=zero)
    return replace(plan, shape=alone)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("host_s", [0.3, 3.0, 6.0])
@pytest.mark.parametrize("seed", range(8))
def test_stretches_do_not_change_times(seed: int, host_s: float, ranks: int) -> None:
    random = Random(seed)
    depth = [4, 16, 1 << 30][seed % 3]
    machine = Machine(0.7, gap_s=0.2, sync_s=1.0, depth=depth, units=132, beside=1.3)
    plans = [random_plan(rank, ranks, 60 + seed, random, host_s) for rank in range(ranks)]
    ours = run(plans, machine, STEPS)
    theirs = run([one_by_one(plan) for plan in plans], machine, STEPS)
    assert ours == theirs
    assert min(min(times.end_s) for times in ours) > 0
