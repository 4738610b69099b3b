"""A convolution returns channels last if its input is channels last. cuDNN does so for depthwise
convolutions too (ATen/native/Convolution.cpp, `use_cudnn_depthwise`), whereas torch's own shape
rule returns a contiguous result for them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._meta_registrations import meta_conv
from torch._prims_common import suggest_memory_format

from simulator.tracing.semantics.registry import Situation, shape_rule


@shape_rule("convolution")
def convolution(situation: Situation, x: torch.Tensor, *args: Any) -> torch.Tensor:
    """[N, C, H, W] to [N, C', H', W'], in the layout of the input."""
    out = meta_conv(x, *args)
    layout = suggest_memory_format(x)
    if layout == torch.contiguous_format:
        return out
    return torch.empty_like(out, memory_format=layout)
