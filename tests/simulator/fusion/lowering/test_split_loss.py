"""The loss of many rows is summed in two steps; the first looks up one element per row."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from simulator.fusion import fused
from simulator.hardware.gpu import gpu
from simulator.tracing import trace


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(16, 1000, bias=False)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self.head(x), labels)


def sums_of_the_loss(rows: int) -> list[tuple[int, int, int]]:
    """FLOPs, number of results and largest read in bytes of each kernel that sums the loss."""
    inputs = (torch.zeros(rows, 16), torch.zeros(rows, dtype=torch.int64))
    traced = trace(Classifier(), inputs, phase="training", optimizer=None)
    return [
        (op.signature.arg("flops"), op.signature.arg("rows"), max(t.nbytes for t in op.inputs))
        for op in fused(traced, gpu("h200")).trace.ops
        if "nll_loss_forward" in op.signature.arg("ops", "") and op.phase == "forward"
    ]


def test_a_sum_in_one_step() -> None:
    assert sums_of_the_loss(8192) == [(4 * 8192, 1, 8192 * 32)]


def test_the_first_step_of_a_split_sum_computes_the_looked_up_elements_alone() -> None:
    first, *last = sums_of_the_loss(16384)  # losses and weights, each from two parts of 4 bytes
    assert first == (4 * 16384, 2, 16384 * 32)
    assert last == [(0, 1, 8), (0, 1, 8)]
