"""One-hot vectors: ones scattered into zeros on a GPU (ATen/native/Onehot.cpp)."""

from __future__ import annotations

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu


@on_gpu("one_hot")
def one_hot(situation: Situation, x: torch.Tensor, classes: int = -1) -> torch.Tensor:
    """[...] to [..., classes]; without `classes` the host waits for the largest value."""
    if classes < 0:
        classes = int(x.max().item()) + 1
    zeros = torch.zeros((*x.shape, classes), dtype=x.dtype, device=x.device)
    return zeros.scatter_(-1, x.unsqueeze(-1), 1)
