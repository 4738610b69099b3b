"""Convolutions in channels-last layout, if Inductor chooses it (torch/_inductor/graph.py,
`decide_layout_opt`): then only inputs and weights are converted for cuDNN, once each."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import works
from simulator.records import Op, Signature, Tensor, Trace

_NODES = 300  # minimum number of graph nodes per convolution at which convolutions are ignored
_GROUPED, _DEFAULT, _WIDENING, _SMALL = 1.358, 0.823, 0.725, 0.783
"""Time in channels-last layout divided by time in row-major layout, as measured by Inductor's
authors."""


_DECOMPOSED = {
    "native_layer_norm": 11, "_fused_rms_norm": 8, "native_group_norm": 13, "native_batch_norm": 25,
    "gelu": 7, "silu": 6, "sigmoid": 3, "_softmax": 6, "_log_softmax": 7, "hardtanh": 3,
    "native_dropout": 5, "bernoulli": 4, "mse_loss": 3, "nll_loss_forward": 12, "detach": 0,
}  # fmt: skip
"""Approximate number of nodes to which Inductor decomposes an op. Any other op is one node, plus
one for each result if it has several. A ViT of three layers has 310 nodes; this table gives 305."""


def _nodes(trace: Trace, forward: list[Op]) -> int:
    """The number of nodes of the forward graph, its inputs included."""
    arguments = sum(storage.born < 0 and storage.role != "optimizer" for storage in trace.storages)
    looks = (len(op.outputs) if len(op.outputs) > 1 else 0 for op in forward)
    names = (op.name.split(".")[1].rstrip("_") for op in forward)
    return arguments + sum(
        _DECOMPOSED.get(name, 1 + look) for name, look in zip(names, looks, strict=True)
    )


def channels_last(trace: Trace) -> bool:
    """Whether Inductor chooses channels-last for the images of this graph."""
    forward = [op for op in trace.ops if op.phase == "forward"]
    convolutions = [
        op.signature
        for op in forward
        if op.name == "aten.convolution.default" and len(op.inputs[0].shape) == 4
    ]
    if not convolutions or _nodes(trace, forward) >= _NODES * len(convolutions):
        return False
    if trace.phase == "training":
        return (
            not any(_grouped(c) for c in convolutions)
            and not any(map(_widens, convolutions))
            and not all(map(_small, convolutions))
        )
    total = weighted = 0.0
    for each in convolutions:
        flops = float(sum(w.flops for w in works(each) or ()))
        total += flops
        weighted += flops * _multiplier(each)
    return weighted <= total


def _multiplier(op: Signature) -> float:
    if _grouped(op):
        return _GROUPED
    if _small(op):
        return _SMALL
    return _WIDENING if _widens(op) else _DEFAULT


def _grouped(op: Signature) -> bool:
    return op.arg("groups", 1) > 1 and op["weight"].shape[1] > 1


def _widens(op: Signature) -> bool:
    weight = op["weight"].shape
    return weight[0] * 2 <= weight[1] and weight[2] > 1


def _small(op: Signature) -> bool:
    weight = op["weight"].shape
    return weight[0] <= 64 and weight[1] <= 64


def to_channels_last(tensor: Tensor) -> Tensor:
    """An image or a weight in channels-last layout."""
    if len(tensor.shape) != 4:
        return tensor
    _, channels, height, width = tensor.shape
    stride = (channels * height * width, 1, width * channels, channels)
    return replace(tensor, stride=stride)


def needs_copy(tensor: Tensor) -> bool:
    """Whether a tensor is not channels-last, so that a kernel must convert it."""
    required = to_channels_last(tensor).stride
    return len(tensor.shape) == 4 and any(
        size > 1 and step != other
        for size, step, other in zip(tensor.shape, tensor.stride, required, strict=True)
    )


def relaid(op: Op, known: dict[int, Signature]) -> Op:
    """A convolution, forward or backward, on channels-last tensors."""
    signature = op.signature
    if id(signature) not in known:
        known[id(signature)] = replace(
            signature,
            inputs=tuple(map(to_channels_last, signature.inputs)),
            outputs=tuple(map(to_channels_last, signature.outputs)),
        )
    return replace(op, signature=known[id(signature)])
