"""Normalisations that run as one kernel on a GPU: batch norm by cuDNN, fused RMS norm."""

from __future__ import annotations

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu, shape_rule

aten = torch.ops.aten
Tensor = torch.Tensor


@on_gpu("batch_norm")
def batch_norm(
    situation: Situation,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """[N, C, ...] to [N, C, ...] by the backend that `_select_batch_norm_backend` chooses
    (ATen/native/Normalization.cpp)."""
    limit = 880801 if training else 65535
    uses_cudnn = (
        situation.gpu.vendor == "NVIDIA"
        and cudnn_enabled
        and weight is not None
        and bias is not None
        and (mean is None) == (variance is None)
        and (mean is not None or training)
        and x.dtype != torch.bfloat16
        and weight.dtype != torch.bfloat16
        and (x.dtype != torch.float16 or weight.dtype == torch.float32)
        and x.dim() > 2
        and x.shape[0] <= limit
        and eps >= 1e-5 * 0.99
    )
    if uses_cudnn:
        x = x.contiguous(memory_format=_format(x))
        return aten.cudnn_batch_norm(x, weight, bias, mean, variance, training, momentum, eps)[0]
    torch.empty((0,), dtype=torch.uint8, device=x.device)  # the reserve, empty without cuDNN
    return aten.native_batch_norm(x, weight, bias, mean, variance, training, momentum, eps)[0]


def _format(x: Tensor) -> torch.memory_format:
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return torch.channels_last
    return torch.contiguous_format


@on_gpu("rms_norm")
def rms_norm(
    situation: Situation,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """[..., D] to [..., D]; several ops if the weight and the input differ in dtype."""
    if weight is not None and weight.dtype != x.dtype:
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        dims = list(range(-len(normalized_shape), 0))
        epsilon = torch.finfo(wide.dtype).eps if eps is None else eps
        scaled = wide * torch.rsqrt(wide.pow(2).mean(dims, keepdim=True).add_(epsilon))
        return (scaled * weight).type_as(x)
    return aten._fused_rms_norm(x, normalized_shape, weight, eps)[0]


@shape_rule("_fused_rms_norm")
def fused_rms_norm(
    situation: Situation,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    eps: float | None,
) -> tuple[Tensor, Tensor]:
    """The output, and the reciprocal root mean square of each row in at least single precision."""
    rows = list(x.shape[: x.dim() - len(normalized_shape)])
    wide = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    rstd = x.new_empty([*rows, *[1] * len(normalized_shape)], dtype=wide)
    return out, rstd
