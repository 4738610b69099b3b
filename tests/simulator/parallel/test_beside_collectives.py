"""Kernels that run at the same time as collectives: waves of products, transfers, and the order of
NCCL's kernels."""

import pytest
import torch
import torch.distributed as dist

from simulator import predict_step
from simulator.parallel.events import run
from simulator.parallel.plan import RankPlan, Transfer
from simulator.parallel.rank_state import Machine

MACHINE = Machine(latency_s=0.0, gap_s=1e-6, sync_s=0.0, depth=1024, units=132, beside=1.3)


def beside(blocks, seconds=1e-3):
    """The times of a collective of 10 ms on stream 1 and of a later kernel on stream 0."""
    long = Transfer(("own", 0), 1, 10e-3)
    plan = RankPlan(
        rank=0,
        stream=[1, 0],
        host_s=[0.0, 1e-6],
        seconds=[0.0, seconds],
        after=[(), ()],
        parts=[(long,), ()],
        channels=[24, 0],
        blocks=[0.0, blocks],
        sync_after=[False, False],
        tail_s=0.1,  # the steps do not overlap
    )
    times = run([plan], MACHINE, 1)[0]
    return times.end_s[1] - times.start_s[1]


@pytest.mark.parametrize(
    "blocks, times",
    [
        (64, 1.0),  # 64 blocks fit on the 132 − 24 = 108 free multiprocessors
        (128, 2.0),  # one wave on 132 multiprocessors, two on 108
        (256, 3 / 2),  # 256/132 = 1.9 → 2 waves, 256/108 = 2.4 → 3
        (2048, 19 / 16),  # 15.5 → 16, 18.96 → 19; measured on H100s and H200s: 1.2 to 1.26
        (0, 132 / 108),  # many small blocks fill all multiprocessors
    ],
)
def test_a_product_during_a_collective_runs_its_waves_on_the_free_multiprocessors(blocks, times):
    assert beside(blocks) == pytest.approx(times * 1e-3)


def test_a_transfer_between_two_kernels_takes_as_long_as_during_a_kernel():
    """The collective begins when the first kernel ends, and the next one begins a gap later."""
    moved = Transfer(("own", 0), 1, 0.5e-3)
    plan = RankPlan(
        rank=0,
        stream=[0, 1, 0],
        host_s=[1e-6, 1e-6, 1e-6],
        seconds=[1e-3, 0.0, 1e-3],
        after=[(), (), ()],
        parts=[(), (moved,), ()],
        channels=[0, 24, 0],
        blocks=[0.0, 0.0, 0.0],
        sync_after=[False] * 3,
        tail_s=0.1,
    )
    times = run([plan], MACHINE, 1)[0]
    assert times.start_s[1] == pytest.approx(times.end_s[0])
    assert times.start_s[2] < times.end_s[1]
    assert times.end_s[1] - times.start_s[1] == pytest.approx(1.3 * 0.5e-3)


def two_streams(rank, world_size):
    """Two all-reduces of 256 MiB of the same group, issued on two streams."""
    a, b = torch.randn(2**26, device="cuda"), torch.randn(2**26, device="cuda")

    def step():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        dist.all_reduce(a)
        with torch.cuda.stream(side):
            dist.all_reduce(b)
        torch.cuda.current_stream().wait_stream(side)

    return step


def test_the_collectives_of_a_communicator_run_one_after_another():
    first, second = (
        k for k in predict_step(two_streams, "2xh200").ranks[0].kernels if k.collective
    )
    assert first.stream != second.stream
    assert second.start_s >= first.end_s
