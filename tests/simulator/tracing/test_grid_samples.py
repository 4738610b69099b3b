"""The kernel with which a GPU samples an image on a grid (ATen/native/GridSampler.cpp)."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import predict_trace, trace


class Warp(nn.Module):
    """Samples the result of a convolution."""

    def __init__(self, channels: int = 8, padding: str = "zeros", corners: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 1)
        self.padding, self.corners = padding, corners

    def forward(self, x: Tensor, grid: Tensor) -> Tensor:
        y = self.conv(x)
        return F.grid_sample(y, grid.to(y.dtype), "bilinear", self.padding, self.corners)


INPUTS = torch.zeros(2, 3, 16, 16), torch.zeros(2, 5, 7, 2)


def samplers(network: nn.Module, phase: str = "inference", gpu: str = "h200") -> list[str]:
    step = trace(network, INPUTS, gpu=gpu, phase=phase, optimizer=None)
    assert predict_trace(step, mode="compiled").period_s > 0
    return [op.name.split(".")[1] for op in step.ops if "grid_sampler" in op.name]


def test_cudnn_samples_with_aligned_corners_and_zeros_outside() -> None:
    assert samplers(Warp()) == ["cudnn_grid_sampler"]
    assert samplers(Warp(), "training") == ["cudnn_grid_sampler", "cudnn_grid_sampler_backward"]


@pytest.mark.parametrize(
    "network",
    [Warp(channels=1025), Warp(padding="border"), Warp(corners=False)],
    ids=["1025 channels", "border", "corners"],
)
def test_other_samples_are_torchs_own(network: nn.Module) -> None:
    assert samplers(network) == ["grid_sampler_2d"]


def test_a_gpu_without_cudnn_samples_with_torchs_own_kernel() -> None:
    assert samplers(Warp(), gpu="mi300x") == ["grid_sampler_2d"]


def test_cudnn_does_not_sample_bfloat16() -> None:
    network = Warp().to(torch.bfloat16)
    step = trace(network, (INPUTS[0].bfloat16(), INPUTS[1]), gpu="h200")
    assert "aten.grid_sampler_2d.default" in [op.name for op in step.ops]


def test_the_results_have_the_sizes_of_the_grid() -> None:
    step = trace(Warp(), INPUTS, gpu="h200", phase="training", optimizer=None)
    forward, backward = (op for op in step.ops if "grid_sampler" in op.name)
    assert forward.outputs[0].shape == (2, 8, 5, 7)
    assert [t.shape for t in backward.outputs] == [(2, 8, 16, 16), (2, 5, 7, 2)]
