"""The loss of a training step: the user's own or a default one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from simulator.errors import InputError
from simulator.tracing.raising import as_input_error

Loss = Callable[[Any], torch.Tensor]


def loss_of(module: nn.Module, loss: Loss | None, output: Any) -> torch.Tensor:
    """The loss of a network's output, a tensor of one element; `default_loss` if `loss` is None.

    Raises InputError if the loss fails or is not a tensor of one element.
    """
    if loss is None:
        value: Any = default_loss(output)
    else:
        remedy = "correct the loss, a callable(output) -> scalar tensor"
        with as_input_error(module, "loss", remedy, output):
            value = loss(output)
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value
    kind = f"of type {type(value).__name__}"
    if isinstance(value, torch.Tensor):
        kind = f"a tensor of shape {list(value.shape)}"
    raise InputError(
        f"the loss of {type(module).__name__} is {kind}: expected a tensor of one element, "
        "such as loss=lambda out: out.mean()"
    )


def default_loss(output: Any) -> torch.Tensor:
    """The `.loss` of an output, else the mean square of its first floating-point tensor.

    Raises InputError if the output has neither.
    """
    own_loss = getattr(output, "loss", None)
    if isinstance(own_loss, torch.Tensor):
        return own_loss
    tensors = [t for t in tree_leaves(output) if isinstance(t, torch.Tensor)]
    floating = [t for t in tensors if t.is_floating_point()]
    if not floating:
        raise InputError(
            "the network returns no floating-point tensor to compute a loss from: return one, or "
            "an output with a .loss; in Python, loss= also takes a function of the output"
        )
    return floating[0].float().pow(2).mean()
