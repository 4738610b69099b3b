"""Dropout: one fused kernel on a GPU (ATen/native/Dropout.cpp, `is_fused_kernel_acceptable`)."""

from __future__ import annotations

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu

aten = torch.ops.aten


@on_gpu("dropout")
def dropout(situation: Situation, x: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """[...] to [...]; the mask is saved for the backward pass."""
    if not train or p == 0 or x.numel() == 0:
        return x
    if p == 1:
        return x * torch.zeros((), dtype=x.dtype, device=x.device)
    return aten.native_dropout(x, p, True)[0]
