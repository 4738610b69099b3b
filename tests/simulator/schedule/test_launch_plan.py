"""The host's work in a step, during its launches and after the last one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.hardware.host_counts import tail_s
from simulator.schedule.launch_plan import LaunchPlan, issued
from simulator.tracing import trace
from tests.simulator.conftest import Calls, small

HOST = host("xeon-h100")


@pytest.mark.parametrize("phase", ["inference", "training"])
def test_no_work_of_the_host_is_lost_or_counted_twice(phase: Any) -> None:
    step = trace(*small("gpt2"), phase=phase)
    plan = issued(step, gpu("h200"))
    launches, driver = plan.by(HOST), HOST.in_phase(phase)
    op_s = driver.op_s(plan.counts)
    kernels = plan.lowered.op_of.size
    assert launches.host_s.size == kernels == plan.launches.sum()
    assert launches.duration_s.size == 0  # unknown, and of no shape that a schedule accepts
    # all ops, all launch calls, and Python after the last op
    total = op_s.sum() + kernels * driver.launch_s + tail_s(step, driver)
    assert launches.host_s.sum() + launches.tail_s == pytest.approx(total, rel=1e-12)
    # the tail is the work of the ops after the last op that launches a kernel
    after = op_s[plan.lowered.op_of[-1] + 1 :].sum()
    assert launches.tail_s == pytest.approx(after + tail_s(step, driver), rel=1e-9)
    # an op's own work precedes its first launch; its further launches take only the call
    again = np.flatnonzero(np.diff(plan.lowered.op_of) == 0) + 1
    assert launches.host_s[again] == pytest.approx(driver.launch_s)
    assert launches.host_s[0] == pytest.approx(
        op_s[: plan.lowered.op_of[0] + 1].sum() + driver.launch_s
    )


def test_ops_without_kernels_touch_nothing_and_kernels_share_their_ops_bytes() -> None:
    # a view between two loops over 100 numbers
    step = trace(Calls(lambda _, x: (x * 2).view(10, 10) + 1), (torch.ones(100),))
    plan = issued(step, gpu("h200"))
    assert plan.launches.tolist() == [1, 0, 1]
    assert plan.accesses.op.tolist() == [0, 0, 2, 2]
    # x was last touched in the previous step, which has five blocks of 512 bytes alive at once; the
    # loops write and read the same 400 bytes in turn
    assert plan.accesses.distance.tolist() == [5 * 512, 400, 400, 400]
    assert plan.hot_share(400).tolist() == [0.5, 1.0]


def test_plans_with_other_launches_have_other_accesses() -> None:
    step = trace(Calls(lambda _, x: (x * 2).exp()), (torch.ones(100),))
    plan = issued(step, gpu("h200"))
    assert plan.accesses.op.tolist() == [0, 0, 1, 1]
    fewer = LaunchPlan(step, replace(plan.lowered, op_of=np.array([1]), work_of=np.array([1])))
    assert fewer.accesses.op.tolist() == [1, 1]
    more = LaunchPlan(step, replace(plan.lowered, op_of=np.array([0, 0]), work_of=np.array([0, 0])))
    assert more.launches.tolist() == [2, 0] and more.accesses.op.tolist() == [0, 0]


def test_the_host_waits_after_the_last_kernel_of_an_op_that_reads_a_value() -> None:
    # several kernels find the nonzero elements, and the host waits for their number
    step = trace(Calls(lambda _, x: (x * 2).nonzero() + 1), (torch.ones(4),))
    plan = issued(step, gpu("h200"))
    waiting = plan.lowered.op_of[plan.sync_after]
    assert [step.ops[op].name for op in waiting] == ["aten.nonzero.default"]
    place = int(np.flatnonzero(plan.sync_after)[0])
    assert plan.lowered.op_of[place] < plan.lowered.op_of[place + 1]
    assert (plan.lowered.op_of == waiting[0]).sum() > 1
