"""Gradients that the compiled backward pass leaves channels last, for row-major weights.

Autograd requires a gradient in the layout of its weight (`AccumulateGrad`, "gradient layout
contract" of torch/csrc/autograd/functions/accumulate_grad.h), and copies other gradients, one by
one, after the compiled code has returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.dataflow import Value
from simulator.fusion.lowering.library.layouts import needs_copy, to_channels_last
from simulator.fusion.node import Node
from simulator.records import Op, Signature, Tensor, row_major

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering


def accumulated(lowering: Lowering) -> None:
    """Add the copies of these gradients after all other launches of the backward pass."""
    known: dict[Tensor, Signature] = {}
    for index, op in enumerate(lowering.trace.ops):
        if op.phase != "backward" or op.name != "aten.convolution_backward.default":
            continue
        gradient = _weight_gradient(lowering, index, op)
        if gradient is None or not needs_copy(op.signature["weight"]):
            continue
        value, tensor = gradient
        plain = Tensor(tensor.shape, tensor.dtype, row_major(tensor.shape))
        if plain not in known:
            known[plain] = Signature(
                "aten.clone.default", (to_channels_last(plain),), (plain,), ("self",), {}
            )
        copy = Op(known[plain], op.module, op.phase, (value[0], value[0]))
        reads, writes = {value: tensor.nbytes}, {next(lowering.number): tensor.nbytes}
        lowering.nodes.append(
            Node("library", 1, reads=reads, writes=writes, ops=(index,), call=copy)
        )


def _weight_gradient(lowering: Lowering, index: int, op: Op) -> tuple[Value, Tensor] | None:
    """The gradient of a convolution's weight as autograd receives it, after its cast if there is
    one."""
    shape = op.signature["weight"].shape
    for value, tensor in zip(lowering.flow.makes[index], op.outputs, strict=True):
        if tensor.shape == shape:
            users = lowering.flow.users.get(value, [])
            if len(users) == 1 and lowering.trace.ops[users[0]].name == "aten._to_copy.default":
                return lowering.flow.makes[users[0]][0], lowering.trace.ops[users[0]].outputs[0]
            return value, tensor
    return None
