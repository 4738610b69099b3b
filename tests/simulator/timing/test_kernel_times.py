"""Concurrent kernels: their share of the time, against hand-computed sums."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs import Work
from simulator.timing.kernel_times import KernelTimes, at_once, at_once_in_graph


def times(beside: list[float] | None, streams: list[float] | None = None) -> KernelTimes:
    zero = np.zeros(3)
    return KernelTimes(
        compute_s=np.array([36e-6, 30e-6, 1e-6]),
        dram_s=np.array([10e-6, 50e-6, 2e-6]),
        l2_s=zero,
        fixed_s=np.array([4e-6, 2e-6, 1e-6]),
        tensor=zero,
        smooth=None,
        beside=None if beside is None else np.array(beside),
        streams=None if streams is None else np.array(streams),
    )


def test_kernels_side_by_side_share_the_time() -> None:
    alone, shared = times(None).parts(), times([4.0, 1.0, 4.0]).parts()
    assert alone.duration_s == pytest.approx([40e-6, 52e-6, 3e-6])
    assert shared.duration_s == pytest.approx([10e-6, 52e-6, 3e-6])
    assert shared.compute_s == pytest.approx([9e-6, 30e-6, 1e-6])


def test_a_kernel_lengthens_the_step_by_a_launch_at_least() -> None:
    assert times([20.0, 1.0, 1.0]).parts().duration_s[0] == pytest.approx(4e-6)


@pytest.mark.parametrize(
    ("groups", "expected"), [(1, 1.0), (2, 1.7), (4, 3.4), (6, 2.55), (8, 3.4), (16, 3.4)]
)
def test_groups_run_in_four_streams(groups: int, expected: float) -> None:
    dims = {"separate_groups": groups, "group_blocks": 8}
    assert at_once(Work("conv", dims=dims)) == pytest.approx(expected)


@pytest.mark.parametrize(("blocks", "expected"), [(132, 1.0), (500, 1.0), (66, 2.0), (33, 3.4)])
def test_kernels_that_fill_the_gpu_run_one_by_one(blocks: int, expected: float) -> None:
    dims = {"separate_groups": 16, "group_blocks": blocks}
    assert at_once(Work("conv", dims=dims)) == pytest.approx(expected)
    assert at_once(Work("conv")) == 1.0


@pytest.mark.parametrize(
    ("streams", "blocks", "expected"),
    # 132 multiprocessors hold two products of 64 blocks, one of 96 with a part of the other
    [(2.0, 64, 1.84), (2.0, 96, 1.375), (2.0, 128, 1.2), (1.6, 16, 1.472), (4.0, 32, 3.68)],
)
def test_recurrent_streams_run_at_once_where_they_fit(
    streams: float, blocks: int, expected: float
) -> None:
    work = Work("gemm", dims={"streams": streams, "stream_blocks": blocks})
    assert at_once_in_graph(work) == pytest.approx(expected)
    assert (at_once(work), at_once_in_graph(Work("gemm"))) == (1.0, 1.0)


def test_a_graph_alone_runs_recurrent_streams_at_once() -> None:
    each = times(None, streams=[2.0, 1.0, 1.5])
    assert each.parts().duration_s == pytest.approx([40e-6, 52e-6, 3e-6])
    assert each.parts(captured=True).duration_s == pytest.approx([20e-6, 52e-6, 2e-6])
