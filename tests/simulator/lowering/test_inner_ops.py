"""Ops that an op of ATen calls internally."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from simulator.hardware.gpu import gpu
from simulator.hardware.host import COUNTS
from simulator.schedule.launch_plan import LaunchPlan, issued
from simulator.tracing import trace

X = torch.ones(2, 8, 16, 16)


class Filled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.masked_fill(x > 0, 0.0)


def planned(module: nn.Module) -> LaunchPlan:
    return issued(trace(module, (X,)), gpu("h200"))


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.ReLU(), [0]),
        (Filled(), [0, 1]),  # a clone that is filled in place
        (nn.Conv2d(8, 8, 3, bias=False), [0]),
        (nn.Conv2d(8, 8, 3), [1]),  # the bias is added to cuDNN's result
        (nn.GroupNorm(2, 8), [1]),  # its last kernel has operands like those of an op
        (nn.Linear(16, 16), [0, 0, 0, 0]),
    ],
)
def test_inner_ops_by_hand(module: nn.Module, expected: list[int]) -> None:
    plan = planned(module)
    names = [op.name for op in plan.trace.ops]
    assert plan.lowered.inner_ops.tolist() == expected, names


def test_an_inner_op_is_an_op_of_the_host() -> None:
    ops = planned(Filled()).counts[:, COUNTS.index("op")]
    assert ops.tolist() == [1, 2]  # the comparison; the clone and the fill


def test_an_inner_op_is_as_cold_as_the_op_that_calls_it() -> None:
    cold = planned(Filled()).counts[:, COUNTS.index("cold_op")]
    assert cold.tolist() == [1, 2]  # none of them ran before
