"""The gradients of results that a forward pass returns besides its loss. The user passes none, but
the backward graph that AOTAutograd compiles has an input for each. Autograd passes zeros in every
step (`set_materialize_grads` of torch.autograd.Function), and the graph adds them."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.fusion.dataflow import Dataflow, Value
from simulator.fusion.kinds import kind
from simulator.records import Op, Tensor, Trace


def returned(trace: Trace, flow: Dataflow) -> Iterator[tuple[int, Tensor]]:
    """Results of library calls that outlive the forward pass and from which loops and reductions
    compute the loss. Yield the op of each result, and its tensor."""
    begin = next((i for i, op in enumerate(trace.ops) if op.phase == "backward"), 0)
    maker = {value: i for i in range(begin) if flow.computes[i] for value in flow.makes[i]}
    losses = [i for i in range(begin) if flow.computes[i]][-1:]
    waiting, visited = losses, set(losses)
    while waiting:
        index = waiting.pop()
        op = trace.ops[index]
        if kind(op.signature) == "library":
            value = flow.makes[index][0]
            if trace.storages[value[0]].freed in (begin, None) and "float" in op.outputs[0].dtype:
                yield index, op.outputs[0]
            continue
        before = {maker[value] for value in flow.reads[index] if value in maker} - visited
        visited |= before
        waiting += before


def gradient_of(trace: Trace, flow: Dataflow, producer: int, out: Tensor) -> int | None:
    """The op that computes the gradient of the result of op `producer`, or None. It is the op that
    writes the first tensor of this size and dtype that backward ops of the same module read."""
    module = trace.ops[producer].module
    maker: dict[Value, int] = {}
    for index, op in enumerate(trace.ops):
        if op.phase != "backward":
            continue
        if op.module == module and flow.computes[index]:
            for value, tensor in zip(flow.reads[index], op.inputs, strict=True):
                matches = tensor.numel == out.numel and tensor.dtype == out.dtype
                if matches and value in maker and len(trace.ops[maker[value]].outputs) == 1:
                    return maker[value]
        if flow.computes[index]:
            maker |= dict.fromkeys(flow.makes[index], index)
    return None


def is_tangent(op: Op) -> bool:
    """Whether an op writes zeros that autograd creates outside the compiled graph."""
    return bool(op.signature.arg("tangent", False))
