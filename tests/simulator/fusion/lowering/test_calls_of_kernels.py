"""Ops that Inductor does not lower, so that a compiled step calls torch's kernels for them."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import predict_trace, trace
from simulator.fusion import fused
from simulator.hardware.gpu import gpu
from simulator.records import Trace


class Distances(nn.Module):
    """Distances between all pairs of rows, and those below the diagonal alone."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cdist(x, x * 2, p=1.0).sum() + torch.pdist(x).sum()


def calls(step: Trace, part: str) -> list[str]:
    return [op.name for op in step.ops if part in op.name]


@pytest.mark.parametrize("kind", [nn.GRUCell, nn.LSTMCell])
def test_a_fused_cell_is_called(kind: type[nn.GRUCell] | type[nn.LSTMCell]) -> None:
    state = torch.zeros(16, 32)
    args = (torch.zeros(16, 32), state if kind is nn.GRUCell else (state, state))
    step = trace(kind(32, 32), args, gpu="h200", phase="training", optimizer=None)
    assert len(calls(step, "_thnn_fused")) == 2
    compiled = fused(step, gpu("h200")).trace
    assert calls(compiled, "_thnn_fused") == calls(step, "_thnn_fused")


def test_distances_are_called() -> None:
    step = trace(Distances(), (torch.zeros(64, 8),), gpu="h200")
    assert calls(step, "dist_") == ["aten._cdist_forward.default", "aten._pdist_forward.default"]
    assert calls(fused(step, gpu("h200")).trace, "dist_") == calls(step, "dist_")


class Sums(nn.Module):
    """The sums of a single number, and of no number, along a dimension."""

    def forward(self, one: Tensor, none: Tensor) -> Tensor:
        return one.sum(0) + none.abs().sum()


def test_sums_of_one_number_and_of_none_have_a_kernel() -> None:
    step = trace(Sums(), (torch.tensor(1.0), torch.zeros(0, 4)), gpu="h200")
    assert predict_trace(step, mode="compiled").period_s > 0


class Margin(nn.Module):
    """A loss whose forward pass Inductor decomposes, but not its gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.classes = nn.Linear(8, 5)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(self.classes(x), target)


def test_the_gradient_of_a_margin_is_called() -> None:
    args = (torch.zeros(4, 8), torch.zeros(4, dtype=torch.int64))
    step = trace(Margin(), args, gpu="h200", phase="training", optimizer=None)
    assert calls(fused(step, gpu("h200")).trace, "multi_margin") == [
        "aten.multi_margin_loss_backward.default"
    ]
