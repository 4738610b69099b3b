"""The host's work for each op, counted by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from simulator.hardware.gpu import gpu
from simulator.hardware.host import COUNTS
from simulator.schedule.launch_plan import issued
from simulator.tracing import trace


class Calls(nn.Module):
    def __init__(self, function: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        self.function(x)
        return x


@pytest.mark.parametrize(
    ("function", "views"),
    [
        (lambda x: x.view(24), [1]),
        (lambda x: x.chunk(3), [3]),  # each view returns its own tensor
        (lambda x: x.unbind(0), [6]),
        (lambda x: torch.cat((x, x, x)), [3]),  # each operand is checked
        (lambda x: torch.stack((x, x)), [2]),
        (lambda x: x.cos(), [0]),
    ],
)
def test_views_are_counted_by_the_tensor(
    function: Callable[[Tensor], object], views: list[int]
) -> None:
    plan = issued(trace(Calls(function), (torch.ones(6, 4),)), gpu("h200"))
    assert plan.counts[:, COUNTS.index("view")].tolist() == views


def _placed(layer: nn.Module, dtype: torch.dtype, *, is_cast: bool, phase: str) -> list[int]:
    """The count for each recurrent op of a step."""

    class Called(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer.to(dtype)

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cuda", torch.float16, enabled=is_cast):
                return self.layer(x)[0]

    traced = trace(Called(), (torch.ones(2, 5, 8, dtype=dtype),), phase=phase, optimizer=None)
    plan, at = issued(traced, gpu("h200")), COUNTS.index("recurrent_weight")
    rows = [i for i, op in enumerate(traced.ops) if "_cudnn_rnn" in op.name]
    assert plan.counts[:, at].sum() == plan.counts[rows, at].sum()
    return plan.counts[rows, at].astype(int).tolist()


@pytest.mark.parametrize(
    ("layer", "dtype", "is_cast", "phase", "places"),
    [
        (nn.LSTM(8, 8), torch.float32, False, "inference", [0]),
        (nn.LSTM(8, 8), torch.float16, False, "inference", [0]),
        (nn.LSTM(8, 8), torch.bfloat16, False, "inference", [16]),
        (nn.LSTM(8, 8, 2, bidirectional=True), torch.float32, True, "inference", [64]),
        (nn.GRU(8, 8), torch.float32, True, "inference", [12]),
        (nn.RNN(8, 8, bidirectional=True), torch.float32, True, "inference", [8]),
        (nn.LSTM(8, 8), torch.float32, False, "training", [0, 16]),
    ],
)
def test_cudnn_is_queried_for_the_place_of_each_matrix_and_bias(
    layer: nn.Module, dtype: torch.dtype, is_cast: bool, phase: str, places: list[int]
) -> None:
    """An LSTM has eight products, a GRU six, a plain layer two; each has a matrix and a bias."""
    assert _placed(layer, dtype, is_cast=is_cast, phase=phase) == places
