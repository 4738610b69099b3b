"""The CTC loss with lengths in tensors: the host reads them (ATen/native/LossCTC.cpp)."""

from __future__ import annotations

import torch
from torch import Tensor

from simulator.tracing.semantics.registry import Situation, on_gpu


@on_gpu("ctc_loss.Tensor")
def ctc_loss(
    situation: Situation,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """The loss with lists of lengths. The host waits for lengths on the GPU twice, since
    `_use_cudnn_ctc_loss` reads them too. Their values are not known: they are assumed to be those
    of full samples."""
    batch = log_probs.shape[1] if log_probs.dim() == 3 else 1
    labels = targets.shape[1] if targets.dim() == 2 else -(-targets.numel() // max(1, batch))
    _on_host(input_lengths, log_probs.shape[0])
    _on_host(target_lengths, labels)
    times = _on_host(input_lengths, log_probs.shape[0])
    lengths = _on_host(target_lengths, labels)
    return torch.ops.aten.ctc_loss.IntList(
        log_probs, targets, times, lengths, blank, reduction, zero_infinity
    )


def _on_host(lengths: Tensor, full: int) -> list[int]:
    """The lengths as a list; `full` for each whose value is not known."""
    if lengths.device.type == "cpu":
        return lengths.long().flatten().tolist()
    lengths.to("cpu", torch.long)
    return [full] * lengths.numel()
