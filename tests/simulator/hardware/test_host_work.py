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
        (lambda x: torch.cat((x, x, x)), [3]),  # each is checked
        (lambda x: torch.stack((x, x)), [2]),
        (lambda x: x.cos(), [0]),
    ],
)
def test_views_are_counted_by_the_tensor(
    function: Callable[[Tensor], object], views: list[int]
) -> None:
    plan = issued(trace(Calls(function), (torch.ones(6, 4),)), gpu("h200"))
    assert plan.counts[:, COUNTS.index("view")].tolist() == views
