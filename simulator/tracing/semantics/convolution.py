"""A convolution by cuDNN returns channels last if its input or its weight is channels last
(ATen/native/ConvUtils.h, `cudnn_conv_suggest_memory_format`), depthwise ones too
(ATen/native/Convolution.cpp, `use_cudnn_depthwise`). torch's own rule returns a contiguous result.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._meta_registrations import meta_conv
from torch._prims_common import suggest_memory_format

from simulator.tracing.semantics.registry import Situation, shape_rule


@shape_rule("convolution")
def convolution(
    situation: Situation, x: torch.Tensor, weight: torch.Tensor, *args: Any
) -> torch.Tensor:
    """[N, C, H, W] to [N, C', H', W'], in the layout of the input or of the weight."""
    out = meta_conv(x, weight, *args)
    layouts = {suggest_memory_format(x), suggest_memory_format(weight)} - {torch.contiguous_format}
    if x.dtype == torch.float64 or not layouts:
        return out
    return torch.empty_like(out, memory_format=layouts.pop())
