"""Which tensors can be written down: dense ones, whose place in memory sizes and strides give."""

from __future__ import annotations

from collections.abc import Iterable

import torch


def not_dense(tensors: Iterable[torch.Tensor], whose: str) -> str:
    """What is wrong where one is sparse, nested or opaque, "" else; `whose` says whose it is."""
    for tensor in tensors:
        if tensor.layout is not torch.strided or tensor.is_nested:
            kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
            shape = "" if tensor.is_nested else f" of shape {list(tensor.shape)}"
            return (
                f"{whose} {kind} tensor{shape}: only dense (strided) tensors are predicted, since "
                "the size of others depends on their data; make it dense, such as by to_dense()"
            )
    return ""
