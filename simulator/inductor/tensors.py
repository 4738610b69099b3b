"""Tensors, graph nodes and buffers of Inductor as records of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_leaves

from simulator.records import ITEM_BYTES, Signature, Tensor
from simulator.tracing.call_arguments import by_name


def tensor(x: torch.Tensor) -> Tensor:
    """A fake tensor on the GPU, or a real one on the CPU."""
    dtype = str(x.dtype).removeprefix("torch.")
    shape, stride = tuple(map(int, x.shape)), tuple(map(int, x.stride()))
    return Tensor(shape, dtype, stride, x.device.type)


def signature(
    name: str,
    names: Sequence[str],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    args: dict[str, Any],
) -> Signature:
    """The signature of a call whose tensors do not share memory."""
    return Signature(name, tuple(inputs), tuple(outputs), tuple(names), args)


def call_of(node: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Signature | None:
    """The signature of a graph node, with the layouts that Inductor chose: `inputs` and `outputs`
    if their numbers match the op, else the tensors of the graph. None if it is not an ATen op."""
    target: Any = node.target
    if not isinstance(node.target, torch._ops.OpOverload):  # pyright: ignore[reportPrivateUsage]
        return None

    def value(x: Any) -> Any:
        return x.meta.get("val") if isinstance(x, torch.fx.Node) else x

    args = map_aggregate(node.args, value)
    kwargs = map_aggregate(dict(node.kwargs), value)
    tensors, names, plain = by_name(target, args, kwargs)
    results = [t for t in tree_leaves(node.meta.get("val")) if isinstance(t, torch.Tensor)]
    if "convolution" in str(target) and len(inputs) < len(tensors):
        tensors, names = tensors[: len(inputs)], names[: len(inputs)]  # a loop adds the bias
    ins = list(inputs) if len(inputs) == len(tensors) else [tensor(t) for t in tensors]
    outs = list(outputs) if len(outputs) == len(results) else [tensor(t) for t in results]
    return signature(str(target), names, ins, outs, plain)


def laid_out(buffer: Any) -> Tensor:
    """A buffer of Inductor as a tensor with its layout."""
    layout = buffer.get_layout()
    shape = tuple(int(s) for s in layout.size)
    stride = tuple(int(s) for s in layout.stride)
    dtype = str(layout.dtype).removeprefix("torch.")
    return Tensor(shape, dtype, stride, "cpu" if layout.device.type == "cpu" else "cuda")


def item_bytes(buffer: Any) -> int:
    """Bytes of one element of a buffer."""
    return ITEM_BYTES[str(buffer.get_dtype()).removeprefix("torch.")]


def layout_bytes(buffer: Any) -> int:
    """Bytes of a buffer's memory; 0 if it has none."""
    if not hasattr(buffer, "get_layout") or not buffer.has_tensor_output():
        return 0
    return int(buffer.get_layout().storage_size()) * item_bytes(buffer)
