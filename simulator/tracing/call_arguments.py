"""The arguments of an op's call: tensors by their names in the schema, others as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isfinite
from typing import Any

import torch

_DROPPED_ARGS = {"device", "layout", "pin_memory"}
_SELECTIONS = tuple(
    f"{name}Backward" for name in "Max Min Sort Topk Median Nanmedian Kthvalue Mode".split()
)
_IN_PLACE = {
    "aten.index_add": ("into_zeros", ("IndexSelectBackward",)),
    "aten.scatter_add": ("into_zeros", ("GatherBackward", "CummaxBackward", "CumminBackward")),
    "aten.scatter": ("into_zeros", _SELECTIONS),
    "aten.put": ("into_zeros", ("TakeBackward",)),
    "aten.masked_fill": ("in_place", ("Atan2Backward",)),
}
"""Ops that autograd calls in place unless a tracer watches, by the nodes that do so, and the
argument that says so: `into_zeros` if autograd allocated the target as zeros
(`areAnyTensorSubclassLike` in torch/csrc/autograd/FunctionsManual.cpp)."""


@cache
def argument_names(func: Any) -> tuple[str, ...]:
    """The names of an op's arguments in its schema, in order."""
    return tuple([argument.name for argument in func._schema.arguments])


def by_name(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[torch.Tensor], tuple[str, ...], dict[str, Any]]:
    """Split a call into tensors, their argument names, and the plain arguments."""
    tensors: list[torch.Tensor] = []
    names: list[str] = []
    plain: dict[str, Any] = {}
    for name, value in (*zip(argument_names(func), args, strict=False), *kwargs.items()):
        if isinstance(value, torch.Tensor):
            tensors.append(value)
            names.append(name)
        elif isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
            members = [v for v in value if isinstance(v, torch.Tensor)]
            tensors += members
            names += [name] * len(members)
            if len(members) != len(value):  # index.Tensor([None, mask]): which items are tensors
                plain[f"{name}_given"] = [v is not None for v in value]
        elif name == "non_blocking":
            if value:  # by default the host waits for a copy
                plain[name] = True
        elif value is not None and name not in _DROPPED_ARGS:
            plain[name] = _plain(value)
    packet = str(func.overloadpacket)
    if packet in _IN_PLACE:
        argument, nodes = _IN_PLACE[packet]
        if _node() in nodes:
            plain[argument] = True
    elif packet == "aten.index_put" and plain.get("accumulate") and _node() != "IndexBackward":
        plain["by_user"] = True
    return tensors, tuple(names), plain


def _node() -> str:
    """The node of autograd that runs, such as "SortBackward" for SortBackward0; "" outside a
    backward pass."""
    node: Any = torch._C._current_autograd_node()
    return "" if node is None else str(node.name()).rstrip("0123456789")


def _plain(value: Any) -> Any:
    """An argument as a JSON value; dtypes, layouts and formats by name."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no "inf"
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value).removeprefix("torch.")
