"""Optimizers that step inside forward: their state exists, as in all steps but the first."""

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
    assert sorted(state) == [32, 32, 256, 256]  # two moments of 8 and of 8·8 float32


def test_momentum_exists() -> None:
    traced = step(lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9))
    assert not [op.name for op in traced.ops if op.name.startswith("aten.clone")]


def test_the_step_is_recorded_once() -> None:
    traced = step(lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9))
    # the momentum of both weights, then both weights
    assert sum(op.name == "aten._foreach_add_.List" for op in traced.ops) == 2


def test_a_closure_is_recorded_alone() -> None:
    class Fits(Learns):
        def forward(self, x: Tensor) -> Tensor:
            def closure() -> Tensor:
                y = self.layer(x).sum()
                y.backward()
                return y

            with torch.enable_grad():
                self.optimizer.step(closure)  # pyright: ignore
            return x

    network = Fits(lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9))
    traced = trace(network, (torch.empty(4, 8),))
    assert sum(op.name == "aten.addmm.default" for op in traced.ops) == 1
