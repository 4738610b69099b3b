"""Convolutions keep channels last where their input has them so.

cuDNN takes them, depthwise ones too (ATen/native/Convolution.cpp, `use_cudnn_depthwise`); torch's
own shape rule gives depthwise convolutions back in the plain layout.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._meta_registrations import meta_conv

from simulator.tracing.semantics.registry import Situation, shape_rule


@shape_rule("convolution")
def convolution(situation: Situation, x: torch.Tensor, *args: Any) -> torch.Tensor:
    """[N, C, H, W] to [N, C', H', W'], laid out as the input is."""
    out = meta_conv(x, *args)
    last = x.dim() == 4 and x.stride(1) == 1 and not x.is_contiguous()
    if not last or x.shape[1] == 1:
        return out
    return torch.empty_like(out, memory_format=torch.channels_last)
