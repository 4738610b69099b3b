"""A training step: its phases, its module paths, and an optimizer whose state exists."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import small

X = torch.ones(4, 8)


class Net(nn.Module):
    """Two named layers with their own loss."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


def step(**options: Any) -> Trace:
    return trace(Net(), (X,), phase="training", **options)


def optimizer_ops(traced: Trace) -> list[str]:
    return [op.name.removeprefix("aten.") for op in traced.ops if op.phase == "optimizer"]


@pytest.mark.parametrize("name", ["bert-base", "resnet18", "lstm"])
def test_forward_comes_before_backward_before_the_optimizer(name: str) -> None:
    module, inputs = small(name, training=True)
    phases = [op.phase for op in trace(module, inputs, phase="training").ops]
    order = ["forward", "backward", "optimizer"]
    assert phases == sorted(phases, key=order.index) and set(phases) == set(order)


def test_inference_is_forward_alone_and_without_autograd() -> None:
    traced = trace(Net(), (X,))
    assert traced.phase == "inference" and traced.optimizer is None
    assert {op.phase for op in traced.ops} == {"forward"}
    assert sum(op.autograd_nodes for op in traced.ops) == 0


def test_every_op_names_its_module_forward_and_backward() -> None:
    traced = step(optimizer=None)
    forward = [(op.name, op.module) for op in traced.ops if op.phase == "forward"]
    assert forward == [
        ("aten.t.default", "body.0"),
        ("aten.addmm.default", "body.0"),
        ("aten.relu.default", "body.1"),
        ("aten.detach.default", "body.1"),  # stored for the backward pass
        ("aten.t.default", "head"),
        ("aten.addmm.default", "head"),
        ("aten.pow.Tensor_Scalar", ""),
        ("aten.mean.default", ""),  # the loss belongs to no module
    ]
    products = [op.module for op in traced.ops if op.phase == "backward" and "mm" in op.name]
    assert products == ["head", "head", "body.0"]  # x needs no gradient: one product fewer
    relu = next(op for op in traced.ops if op.name == "aten.threshold_backward.default")
    assert relu.module == "body.1"


def test_adamw_is_its_second_step() -> None:
    """The second step, from `_multi_tensor_adam` in torch/optim/adam.py: no state is created."""
    traced = step()
    ops = optimizer_ops(traced)
    on_gpu = [name for name in ops if name.startswith("_foreach")]
    assert on_gpu == [
        "_foreach_add_.Tensor",  # the step counters, on the CPU
        "_foreach_mul_.Scalar",  # weight decay
        "_foreach_lerp_.Scalar",  # first moment
        "_foreach_mul_.Scalar",
        "_foreach_addcmul_.Scalar",  # second moment
        "_foreach_sqrt.default",
        "_foreach_div_.ScalarList",
        "_foreach_add_.Scalar",
        "_foreach_addcdiv_.ScalarList",
    ]
    assert not any("zeros" in name or "empty" in name for name in ops)
    counters = next(op for op in traced.ops if op.name == "aten._foreach_add_.Tensor")
    assert {t.device for t in counters.inputs} == {"cpu"}


def test_fused_adamw_is_one_op_and_its_counters() -> None:
    assert optimizer_ops(step(optimizer="adamw_fused")) == [
        "_foreach_add_.Scalar",
        "_fused_adamw_.default",
    ]


def test_sgd_has_its_momentum_buffers() -> None:
    ops = optimizer_ops(step(optimizer="sgd"))
    # buf = 0.9·buf; buf += grad; weight −= lr·buf. The first step would clone the gradients.
    assert ops == ["_foreach_mul_.Scalar", "_foreach_add_.List", "_foreach_add_.List"]


def test_without_an_optimizer_the_gradients_stay() -> None:
    traced = step(optimizer=None)
    assert traced.optimizer is None and optimizer_ops(traced) == []
    # 8·16 + 16 + 16·2 + 2 = 178 weights
    assert traced.parameters == 178
    gradients = [s for s in traced.storages if s.role == "gradient"]
    assert sum(s.nbytes for s in gradients) == 4 * 178 and len(gradients) == 4


@pytest.mark.parametrize(("optimizer", "moments"), [("adamw", 2), ("adamw_fused", 2), ("sgd", 1)])
def test_optimizer_state_exists_before_the_step_on_the_gpu(optimizer: str, moments: int) -> None:
    state = [s for s in step(optimizer=optimizer).storages if s.role == "optimizer"]
    large = [s for s in state if s.nbytes > 4 and s.device == "cuda"]
    assert sum(s.nbytes for s in large) == moments * 4 * 178
    assert {s.born for s in state} == {-1}


def test_foreach_counters_lie_on_the_cpu_and_fused_ones_on_the_gpu() -> None:
    def where(optimizer: str) -> set[str]:
        state = [s for s in step(optimizer=optimizer).storages if s.role == "optimizer"]
        return {s.device for s in state if s.nbytes == 4}

    assert where("adamw") == {"cpu"} and where("adamw_fused") == {"cuda"}


def test_zero_grad_frees_every_gradient() -> None:
    traced = step()
    gradients = [s for s in traced.storages if s.role == "gradient"]
    assert len(gradients) == 4
    assert all(s.freed == len(traced.ops) for s in gradients)


def test_frozen_weights_have_neither_gradient_nor_state() -> None:
    module = Net()
    module.body.requires_grad_(False)
    traced = trace(module, (X,), phase="training")
    # 16·2 + 2 = 34 weights remain
    assert sum(s.nbytes for s in traced.storages if s.role == "gradient") == 4 * 34
    products = [op.module for op in traced.ops if op.phase == "backward" and "mm" in op.name]
    assert products == ["head"]


def test_a_custom_loss() -> None:
    names = step(loss=lambda y: y.abs().sum(), optimizer=None).names()
    assert "aten.abs.default" in names and "aten.pow.Tensor_Scalar" not in names


def test_an_output_with_a_loss_is_trained_on_it() -> None:
    module, inputs = small("mlp-tiny", training=True)
    names = trace(module, inputs, phase="training", optimizer=None).names()
    assert "aten.nll_loss_forward.default" in names and "aten.mean.default" not in names
