"""The parts of a rank's time, for hand-made kernels and for a predicted step."""

from dataclasses import replace

import pytest

from simulator.cluster.step import NetworkStep
from simulator.parallel.predict_step import predict_network
from simulator.parallel.prediction import RankKernel
from simulator.parallel.rank_parts import collectives, exposed, rank_parts
from simulator.parallel.traffic import traffic
from simulator.records import Collective

STEP = NetworkStep("gpt2", 4, 64, "bf16", True, sizes={"layers": 4})


def kernel(start_s: float, end_s: float, wait_s: float | None = None) -> RankKernel:
    """A kernel, or with `wait_s` a collective that waits for this time."""
    what = None if wait_s is None else Collective("all_reduce", 1024, (0, 1))
    return RankKernel(0, 0, "k", "", "forward", 0, 0.0, start_s, end_s, wait_s or 0.0, what)


def test_exposed_time_counts_once_and_only_without_kernels():
    kernels = [
        kernel(0, 4),
        kernel(3, 5),
        kernel(3, 8, wait_s=1),  # moves data from 4 to 8; no other kernel runs from 5 on
        kernel(7, 10, wait_s=0),  # the collective before it counts until 8
        kernel(9, 9.5),
        kernel(12, 13, wait_s=1),  # only waits
    ]
    alone_s = [seconds for _, seconds in exposed(kernels)]
    assert alone_s == [3.0, 1.5, 0.0]


@pytest.mark.layered(5, daily=["tp=2"])
@pytest.mark.parametrize("layout", ["dp=2", "tp=2", "pp=2", "dp=2 fsdp"])
def test_the_parts_of_a_rank_sum_to_the_period(layout: str):
    p = predict_network(STEP, layout, "2xh200")
    for rank in p.ranks:
        parts = rank_parts(p, rank)
        values = (parts.compute_s, parts.memory_s, parts.overhead_s, parts.bubble_s)
        assert min(values) >= 0
        assert sum(values) + parts.exposed_s == pytest.approx(p.period_s, rel=1e-9)
        rows = collectives(p, rank)
        assert sum(row.count for row in rows) == sum(k.collective is not None for k in rank.kernels)
        alone_s = sum(row.exposed_s for row in rows)
        assert alone_s == pytest.approx(rank.exposed_communication_s, abs=1e-12)
        assert sum(row.all_s for row in rows) == pytest.approx(rank.communication_s)


def test_traffic_equals_the_bytes_of_the_ring():
    p = predict_network(STEP, "dp=2", "2xh200")
    reduced = sum(k.collective.message_bytes for k in p.ranks[0].kernels if k.collective)
    moved = traffic(p.ranks[0])
    assert moved.link_bytes == pytest.approx(reduced)  # 2(n − 1)/n = 1
    assert moved.network_bytes == 0 and moved.link_s == pytest.approx(p.communication_s)


def test_a_stream_may_begin_while_another_kernel_ends():
    step = replace(STEP, batch=8, seq=1024, sizes={})
    p = predict_network(step, "dp=2 pp=4 bucket=100", "8xh200")
    assert len(p.ranks) == 4 and p.period_s > 0
