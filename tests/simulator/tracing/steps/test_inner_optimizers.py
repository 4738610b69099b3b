"""Optimizers that step inside the forward pass: their state exists, as in all steps except the
first."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from simulator.records import Trace
from simulator.tracing import trace

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class Learns(nn.Module):
    """A network that trains its layer in each call."""

    def __init__(self, make: Make) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.optimizer = make([*self.layer.parameters()])

    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            y = self.layer(x).sum()
            self.optimizer.zero_grad()
            y.backward()
            self.optimizer.step()
        return y.detach()


def step(make: Make) -> Trace:
    return trace(Learns(make), (torch.empty(4, 8),))


def test_adam_has_its_moments() -> None:
    traced = step(lambda weights: torch.optim.Adam(weights))
    assert not [op.name for op in traced.ops if "zeros_like" in op.name]
    state = [s.nbytes for s in traced.storages if s.role == "optimizer" and s.device == "cuda"]
    assert sorted(state) == [32, 32, 256, 256]  # two moments each of 8 and of 8·8 float32 numbers


def test_momentum_exists() -> None:
    traced = step(lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9))
    assert not [op.name for op in traced.ops if op.name.startswith("aten.clone")]


def test_the_step_is_recorded_once() -> None:
    traced = step(lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9))
    # the momentum of both weights, then both weights
    assert sum(op.name == "aten._foreach_add_.List" for op in traced.ops) == 2


class Fits(Learns):
    """A network whose optimizer runs the network again, in a closure."""

    def forward(self, x: Tensor) -> Tensor:
        def closure() -> Tensor:
            self.optimizer.zero_grad()
            y = self.layer(x).sum()
            y.backward()
            return y

        with torch.enable_grad():
            self.optimizer.step(closure)  # pyright: ignore
        return x


def closure_step(make: Make) -> Trace:
    return trace(Fits(make), (torch.empty(4, 8),))


def test_a_closure_is_recorded_once() -> None:
    traced = closure_step(lambda weights: torch.optim.SGD(weights, lr=0.1))
    assert sum(op.name == "aten.addmm.default" for op in traced.ops) == 1
    assert sum(op.module_calls for op in traced.ops) == 2  # the network and its layer


def test_an_optimizer_with_a_closure_has_its_state() -> None:
    traced = closure_step(lambda weights: torch.optim.Adam(weights))
    assert not [op.name for op in traced.ops if "zeros_like" in op.name]
    state = [s.nbytes for s in traced.storages if s.role == "optimizer" and s.device == "cuda"]
    assert sorted(state) == [32, 32, 256, 256]


def test_a_closure_may_read_values() -> None:
    traced = closure_step(lambda weights: torch.optim.LBFGS(weights))
    items = [op for op in traced.ops if op.name == "aten._local_scalar_dense.default"]
    assert len(items) == len(traced.assumptions) == 2  # the loss, and whether it is minimal


def test_the_state_of_an_optimizer_built_inside_is_created_in_each_step() -> None:
    class Builds(Learns):
        def forward(self, x: Tensor) -> Tensor:
            self.optimizer = torch.optim.Adam(self.layer.parameters())
            return super().forward(x)

    traced = trace(Builds(lambda weights: torch.optim.Adam(weights)), (torch.empty(4, 8),))
    # for each of two weights, two moments and the step number on the host
    assert sum("zeros_like" in op.name for op in traced.ops) == 4
    assert not [s for s in traced.storages if s.role == "optimizer"]
