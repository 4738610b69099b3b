"""The host's time to enter the passes of a compiled step, and the time of its calls by kind,
against hand-computed sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from msgspec import structs
from torch import Tensor, nn

from simulator.fusion import fused
from simulator.fusion.host.compiled_host import HostCosts
from simulator.fusion.host.host_costs import calls_s, launches, ops_s
from simulator.hardware.gpu import gpu
from simulator.hardware.host import Host, host
from simulator.hardware.host_counts import tail_s
from simulator.schedule.launch_plan import LaunchPlan, issued
from simulator.tracing import trace
from tests.simulator.conftest import Calls

HOST = host()
ZEROS = dict.fromkeys((field.name for field in fields(HostCosts)), 0.0)
FREE = HostCosts(**(ZEROS | {"reference_op_s": HOST.seconds["op"]}))


def plan_of(module: nn.Module, *args: Tensor, training: bool = False) -> LaunchPlan:
    phase = {"phase": "training", "optimizer": "sgd"} if training else {}
    step = trace(module, args, run="compiled", **phase)  # pyright: ignore[reportArgumentType]
    return issued(fused(step, gpu("h200")).trace, gpu("h200"))


class Normed(nn.Module):
    """A module with two weights, two biases, and the three buffers of a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.layer(x)).relu()


def entered(plan: LaunchPlan, **costs: float) -> list[tuple[int, float]]:
    """The ops at which a pass is entered, with the seconds."""
    seconds = calls_s(plan, HOST, replace(FREE, **costs))
    return [(int(i), float(seconds[i])) for i in np.flatnonzero(seconds)]


def test_a_forward_pass_is_entered_once_with_its_inputs_weights_and_buffers() -> None:
    plan = plan_of(Normed().eval(), torch.empty(4, 8))
    # one input; four parameters, the running mean and variance, and the count of batches
    tensors = sum(s.role in ("weight", "buffer") for s in plan.trace.storages)
    assert tensors in (6, 7)
    assert entered(plan, call_s=1e-6, input_s=1e-7, weight_s=1e-9) == [
        (0, pytest.approx(1e-6 + 1e-7 + tensors * 1e-9))
    ]
    assert entered(plan, backward_s=1.0, gradient_s=1.0) == []


def test_a_backward_pass_is_entered_at_its_first_op_with_a_gradient_for_each_weight() -> None:
    plan = plan_of(Normed(), torch.empty(4, 8), training=True)
    phases = [op.phase for op in plan.trace.ops]
    expected = [(phases.index("backward"), pytest.approx(3e-6 + 4 * 1e-7))]
    assert entered(plan, backward_s=3e-6, gradient_s=1e-7) == expected
    assert [place for place, _ in entered(plan, call_s=1e-6, backward_s=1e-6)] == [
        0,
        phases.index("backward"),
    ]


def slower(times: float) -> Host:
    return structs.replace(HOST, seconds=dict(HOST.seconds) | {"op": times * HOST.seconds["op"]})


def test_a_slower_host_takes_longer_in_proportion() -> None:
    plan = plan_of(Normed().eval(), torch.empty(4, 8))
    twice = slower(2)
    costs = replace(FREE, call_s=1e-6, triton_s=1e-6, product_s=1e-6)
    assert calls_s(plan, twice, costs).sum() == pytest.approx(2 * calls_s(plan, HOST, costs).sum())
    launch_s = plan.launches * HOST.launch_s
    once, slow = (ops_s(plan, each, costs) - launch_s for each in (HOST, twice))
    assert slow.sum() == pytest.approx(2 * once.sum())


def _tripled(x: Tensor) -> Tensor:
    return x * 3


apart = cast("Callable[[Tensor], Tensor]", torch.compiler.disable(_tripled))


def test_a_graph_after_a_break_is_entered_with_what_it_is_handed() -> None:
    module = Calls(lambda m, x: (apart((x @ m.w).exp()) + 1).sin())
    (first, entered_s), (second, resumed_s) = entered(
        plan_of(module, torch.empty(4, 4)), call_s=1e-6, input_s=1e-7, resumed_s=1e-5, node_s=1e-3
    )
    assert first == 0 and entered_s == pytest.approx(1e-6 + 1e-7)
    # the second graph: a call, a function of its own, and the tensor that is passed between them
    assert second > first and resumed_s == pytest.approx(1e-6 + 1e-5 + 1e-7)


def test_a_slower_host_enters_each_graph_later_in_proportion() -> None:
    plan = plan_of(Calls(lambda m, x: apart(x @ m.w).sin()), torch.empty(4, 4))
    costs = replace(FREE, call_s=1e-6, resumed_s=1e-5)
    once, slow = (calls_s(plan, each, costs) for each in (HOST, slower(2)))
    assert np.flatnonzero(once).size == 2
    assert slow.tolist() == pytest.approx((2 * once).tolist())


def heads(_: Calls, q: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, q, q)


@pytest.mark.parametrize(
    ("function", "shape", "cost"),
    [
        (lambda m, x: x @ m.w, (4, 4), "product_s"),
        (lambda m, x: torch.addmm(m.b, x, m.w), (4, 4), "further_product_s"),
        (lambda m, x: torch.addmm(m.b, x, m.w).sin(), (4, 4), "product_s"),  # a loop adds the bias
        (lambda m, x: torch.bmm(x, x), (2, 4, 4), "further_product_s"),
        (lambda m, x: F.conv2d(x, m.w[:, :, None, None]), (2, 4, 4, 4), "convolution_s"),
        (heads, (2, 2, 16, 64), "attention_s"),
    ],
)
def test_a_call_takes_the_seconds_of_its_kind(
    function: Callable[..., Any], shape: tuple[int, ...], cost: str
) -> None:
    dtype = torch.bfloat16 if len(shape) == 4 and not cost.startswith("conv") else torch.float32
    plan = plan_of(Calls(function), torch.empty(shape, dtype=dtype))
    kinds = ("product_s", "further_product_s", "convolution_s", "attention_s", "triton_s")
    without = ops_s(plan, HOST, FREE)
    more = {
        kind: int(np.count_nonzero(ops_s(plan, HOST, replace(FREE, **{kind: 1.0})) - without))
        for kind in kinds
    }
    generated = sum(op.name.startswith("fused.") for op in plan.trace.ops)
    assert more["triton_s"] == generated
    assert {kind: more[kind] for kind in kinds[:4] if more[kind]} == {cost: 1}


def test_the_optimizer_and_code_between_graphs_cost_as_in_eager_mode() -> None:
    plan = plan_of(Normed(), torch.empty(4, 8), training=True)
    eager_s = HOST.op_s(plan.counts) + plan.launches * HOST.launch_s
    updates = [index for index, op in enumerate(plan.trace.ops) if op.phase == "optimizer"]
    taken = ops_s(plan, HOST, replace(FREE, triton_s=1.0, cold_s=1.0))
    assert updates and [taken[i] for i in updates] == pytest.approx([eager_s[i] for i in updates])


def test_the_launches_of_a_step_take_all_its_work() -> None:
    plan = plan_of(Normed(), torch.empty(4, 8), training=True)
    costs = replace(FREE, call_s=1e-3, backward_s=2e-3, triton_s=1e-6)
    spread = launches(plan, HOST, costs)
    training = HOST.in_phase("training")
    both = ops_s(plan, training, costs) + calls_s(plan, training, costs)
    assert both.sum() > 3e-3
    ended_s = tail_s(plan.trace, training)  # Python code after the last op
    assert float(np.sum(spread.host_s) + spread.tail_s) == pytest.approx(both.sum() + ended_s)
