"""Tensors, nodes of a graph and buffers of the compiler as the records of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_leaves

from simulator.records import ITEM_BYTES, Signature, Tensor
from simulator.tracing.call_arguments import by_name


def tensor(found: torch.Tensor) -> Tensor:
    """A fake tensor on the GPU, or a real one on the CPU."""
    dtype = str(found.dtype).removeprefix("torch.")
    shape, stride = tuple(map(int, found.shape)), tuple(map(int, found.stride()))
    return Tensor(shape, dtype, stride, found.device.type)


def signature(
    name: str,
    names: Sequence[str],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    args: dict[str, Any],
) -> Signature:
    """A call whose tensors are all different memory."""
    return Signature(name, tuple(inputs), tuple(outputs), tuple(names), args)


def call_of(node: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Signature | None:
    """The op of a graph's node, on tensors laid out as the compiler laid them: `inputs` and
    `outputs` where there are as many as the op has, else the graph's own. None for no ATen op."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return None

    def value(x: Any) -> Any:
        return x.meta.get("val") if isinstance(x, torch.fx.Node) else x

    args = map_aggregate(node.args, value)
    kwargs = map_aggregate(dict(node.kwargs), value)
    found, names, plain = by_name(node.target, args, kwargs)  # pyright: ignore[reportArgumentType]
    results = [t for t in tree_leaves(node.meta.get("val")) if isinstance(t, torch.Tensor)]
    if "convolution" in str(node.target) and len(inputs) < len(found):
        found, names = found[: len(inputs)], names[: len(inputs)]  # a loop adds the bias
    ins = list(inputs) if len(inputs) == len(found) else [tensor(t) for t in found]
    outs = list(outputs) if len(outputs) == len(results) else [tensor(t) for t in results]
    return signature(str(node.target), names, ins, outs, plain)


def laid_out(buffer: Any) -> Tensor:
    """A buffer of the compiler's, as it laid it out."""
    layout = buffer.get_layout()
    shape = tuple(int(s) for s in layout.size)
    stride = tuple(int(s) for s in layout.stride)
    dtype = str(layout.dtype).removeprefix("torch.")
    return Tensor(shape, dtype, stride, "cpu" if layout.device.type == "cpu" else "cuda")


def item_bytes(buffer: Any) -> int:
    """Bytes of one element of a buffer of the compiler's."""
    return ITEM_BYTES[str(buffer.get_dtype()).removeprefix("torch.")]


def layout_bytes(buffer: Any) -> int:
    """Bytes of its memory; 0 where it has none."""
    if not hasattr(buffer, "get_layout") or not buffer.has_tensor_output():
        return 0
    return int(buffer.get_layout().storage_size()) * item_bytes(buffer)
