"""Only dense tensors are traced: their sizes and strides give the layout in memory."""

from __future__ import annotations

from collections.abc import Iterable

import torch


def dense_error(tensors: Iterable[torch.Tensor], subject: str) -> str:
    """The error text for a sparse, nested or opaque tensor, beginning with `subject`; "" if all are
    dense."""
    for tensor in tensors:
        if tensor.layout is not torch.strided or tensor.is_nested:
            kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
            shape = "" if tensor.is_nested else f" of shape {list(tensor.shape)}"
            return (
                f"{subject} {kind} tensor{shape}: expected a dense (strided) tensor, because the "
                "size of others depends on their data; convert it, for example with to_dense()"
            )
    return ""
