"""Softmax that reads half precision and computes in single (ATen/native/SoftMax.cpp)."""

from __future__ import annotations

from typing import Any

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu

aten = torch.ops.aten


@on_gpu("softmax.int")
def softmax(
    situation: Situation, x: torch.Tensor, dim: int, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """[...] to [...]; only float16 to float32 is fused, bfloat16 is cast first."""
    return _widening(aten._softmax, x, dim, dtype)


@on_gpu("log_softmax.int")
def log_softmax(
    situation: Situation, x: torch.Tensor, dim: int, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """[...] to [...]; like `softmax`."""
    return _widening(aten._log_softmax, x, dim, dtype)


def _widening(op: Any, x: torch.Tensor, dim: int, dtype: torch.dtype | None) -> torch.Tensor:
    if x.dtype == torch.float16 and dtype == torch.float32:
        return op(x, dim, True)
    return op(x if dtype is None else x.to(dtype), dim, False)
