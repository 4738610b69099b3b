"""A copy of a network without memory: every parameter and buffer becomes a `meta` tensor."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map

from simulator.errors import InputError
from simulator.networks.known_values import keep_value
from simulator.tracing.layouts.dense import dense_error
from simulator.tracing.substituted import substituted


def weightless(module: nn.Module) -> nn.Module:
    """A deep copy that shares nothing with `module`, holds no data and keeps ties and strides."""
    memo: dict[int, Any] = {}
    tensors = (*module.parameters(), *module.buffers())
    if error := dense_error(tensors, f"{type(module).__name__} holds a"):
        raise InputError(error)
    for tensor in tensors:
        memo[id(tensor)] = _empty(tensor)
    try:
        # an optimizer's own method leaves attributes out: LBFGS would lose its parameters
        with substituted(torch.optim.Optimizer, __getstate__=lambda self: dict(vars(self))):
            return copy.deepcopy(module, memo)
    except (RuntimeError, TypeError) as reason:
        raise InputError(
            f"{type(module).__name__} cannot be copied: {reason}: expected a module whose tensors "
            "are parameters or buffers; register the others with register_buffer()"
        ) from reason


def weightless_inputs(values: Any) -> Any:
    """Nested arguments, with every tensor replaced by one on `meta`."""
    tensors = (v for v in tree_leaves(values) if isinstance(v, torch.Tensor))
    if error := dense_error(tensors, "an input is a"):
        raise InputError(error)
    return tree_map(lambda v: _empty(v) if isinstance(v, torch.Tensor) else v, values)


def _empty(tensor: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        empty = torch.empty_strided(
            tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device="meta"
        )
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(empty, requires_grad=tensor.requires_grad)
    return keep_value(empty.requires_grad_(tensor.requires_grad), tensor)
