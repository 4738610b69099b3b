"""`F.grid_sample`, which cuDNN computes with the settings of spatial transformers and optical flow
(`cond_cudnn_grid_sampler` of ATen/native/GridSampler.cpp)."""

from __future__ import annotations

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu, shape_rule

aten = torch.ops.aten
Tensor = torch.Tensor

_BILINEAR, _ZEROS = 0, 0
_DTYPES = (torch.float16, torch.float32, torch.float64)
_MOST_CHANNELS = 1024
_MOST_ELEMENTS = 2**31 - 1


@on_gpu("grid_sampler")
def grid_sampler(
    situation: Situation,
    x: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """Values of `x` [B, C, H, W] or [B, C, D, H, W] at the positions of a grid."""
    if x.dim() != 4:
        return aten.grid_sampler_3d(x, grid, interpolation_mode, padding_mode, align_corners)
    by_cudnn = (
        situation.gpu.compute_capability is not None
        and (interpolation_mode, padding_mode, align_corners) == (_BILINEAR, _ZEROS, True)
        and torch.backends.cudnn.enabled
        and all(t.dtype in _DTYPES and 0 < t.numel() <= _MOST_ELEMENTS for t in (x, grid))
        and x.shape[1] <= _MOST_CHANNELS
    )
    if by_cudnn:
        return aten.cudnn_grid_sampler(x, grid)
    return aten.grid_sampler_2d(x, grid, interpolation_mode, padding_mode, align_corners)


@shape_rule("cudnn_grid_sampler")
def cudnn_grid_sampler(situation: Situation, x: Tensor, grid: Tensor) -> Tensor:
    """The sampled values [B, C, H, W]; the grid is [B, H, W, 2]."""
    return x.new_empty((*x.shape[:2], *grid.shape[1:3]))


@shape_rule("cudnn_grid_sampler_backward")
def cudnn_grid_sampler_backward(
    situation: Situation, x: Tensor, grid: Tensor, grad_output: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of the input and of the grid."""
    return torch.empty_like(x), torch.empty_like(grid)
