"""The host's work of a step, over its launches and after the last of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.hardware.host_counts import tail_s
from simulator.schedule.launch_plan import issued
from simulator.tracing import trace
from tests.simulator.conftest import small

HOST = host("xeon-h100")


@pytest.mark.parametrize("phase", ["inference", "training"])
def test_no_work_of_the_host_is_lost_or_counted_twice(phase: Any) -> None:
    step = trace(*small("gpt2"), phase=phase)
    plan = issued(step, gpu("h200"))
    launches = plan.by(HOST)
    op_s = HOST.op_s(plan.counts)
    kernels = plan.lowered.op_of.size
    assert launches.host_s.size == kernels == plan.launches.sum()
    # all ops, all launch calls, and Python after the last op
    total = op_s.sum() + kernels * HOST.launch_s + tail_s(step, HOST)
    assert launches.host_s.sum() + launches.tail_s == pytest.approx(total, rel=1e-12)
    # after the last launch: the ops after the one that launched it
    after = op_s[plan.lowered.op_of[-1] + 1 :].sum()
    assert launches.tail_s == pytest.approx(after + tail_s(step, HOST), rel=1e-9)
    # an op's work comes before its first launch; its others are launch calls alone
    again = np.flatnonzero(np.diff(plan.lowered.op_of) == 0) + 1
    assert launches.host_s[again] == pytest.approx(HOST.launch_s)
    assert launches.host_s[0] == pytest.approx(
        op_s[: plan.lowered.op_of[0] + 1].sum() + HOST.launch_s
    )
