"""Gradients of convolutions: the number of copies recorded on an H200."""

from __future__ import annotations

import torch
from torch import nn

from simulator import trace
from simulator.fusion import fused
from simulator.hardware.gpu import gpu


def _copies(*layers: nn.Module) -> list[tuple[int, ...]]:
    """Shapes of the tensors that autograd copies after the backward pass."""
    step = trace(nn.Sequential(*layers), (torch.empty(2, 128, 16, 16),), phase="training")
    ops = fused(step, gpu("h200")).trace.ops
    clones = [op for op in ops if op.name == "aten.clone.default" and op.phase == "backward"]
    assert all(op.outputs[0].contiguous and not op.inputs[0].contiguous for op in clones)
    return [op.outputs[0].shape for op in clones]


def test_gradients_of_wide_kernels_are_copied() -> None:
    with torch.device("meta"):
        layers = nn.Conv2d(128, 128, 3), nn.Conv2d(128, 64, 1), nn.Conv2d(64, 64, 3)
    # from the last layer to the first; with one pixel, both layouts have the same order
    assert _copies(*layers) == [(64, 64, 3, 3), (128, 128, 3, 3)]


def test_gradients_of_one_channel_per_group_have_the_same_layout() -> None:
    with torch.device("meta"):
        layers = nn.Conv2d(128, 128, 3, groups=128), nn.Conv2d(128, 128, 1)
    assert _copies(*layers) == []


def test_weights_that_are_channels_last_already_need_none() -> None:
    with torch.device("meta"):
        layers = nn.Conv2d(128, 128, 3), nn.Conv2d(128, 128, 3)
    for layer in layers:
        layer.weight = nn.Parameter(layer.weight.to(memory_format=torch.channels_last))
    assert _copies(*layers) == []


class Lines(nn.Module):
    """A convolution, then a norm over the channels of each pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.turned, self.norm = nn.Conv2d(128, 128, 1), nn.LayerNorm(128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.turned(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def test_what_comes_of_lines_is_copied_for_a_convolution() -> None:
    with torch.device("meta"):
        layers = nn.Conv2d(128, 128, 1), Lines()
    step = trace(nn.Sequential(*layers), (torch.empty(2, 128, 16, 16),), phase="training")
    ops = fused(step, gpu("h200")).trace.ops
    copies = [op for op in ops if op.name == "aten.clone.default" and op.phase == "backward"]
    # only the norm's gradient is copied, not that of the preceding convolution, which cuDNN
    # computes
    assert [op.outputs[0].shape for op in copies] == [(2, 128, 16, 16)]
