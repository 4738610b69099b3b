"""The tensors that torch's own partitioner stores, on the CPU: an oracle."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._functorch.aot_autograd import aot_function
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
VIEWS = {"view", "t", "permute", "alias", "_unsafe_view", "expand", "slice", "select", "getitem"}


def loss_of(output: Any) -> Tensor:
    return (output.float() ** 2).mean()


def _transposed(x: Tensor, one: int, other: int) -> Tensor:
    order = list(range(x.dim()))
    order[one], order[other] = order[other], order[one]
    return aten.permute(x, order)


def _detached(x: Tensor) -> Tensor:
    return aten.alias(x)


DECOMPOSED = {aten.transpose.int: _transposed, aten.detach.default: _detached}
"""Inductor has no transpose and no detach in its graphs."""


def torch_keeps(module: nn.Module, args: tuple[Tensor, ...]) -> int:
    """Bytes of the tensors that the forward graph passes to the backward graph, counting each
    memory region once and no argument of the step.
    """
    sizes: list[int] = []

    def base(node: Any) -> Any:
        """The tensor that a view refers to; one of several results of an op is not a view."""
        while node.op == "call_function":
            name = getattr(node.target, "_opname", node.target.__name__)
            if name not in VIEWS or not isinstance(node.args[0].meta["val"], Tensor):
                break
            node = node.args[0]
        return node

    def partition(joint: Any, inputs: Any, *, num_fwd_outputs: int, **rest: Any) -> Any:
        graphs = min_cut_rematerialization_partition(
            joint, inputs, num_fwd_outputs=num_fwd_outputs, **rest
        )
        (end,) = graphs[0].graph.find_nodes(op="output")
        saved = [n for n in tree_leaves(end.args)[num_fwd_outputs:] if n is not None]
        nodes = dict.fromkeys(base(n) for n in saved if isinstance(n.meta["val"], Tensor))
        sizes.extend(n.meta["val"].nbytes for n in nodes if n.op != "placeholder")
        return graphs

    names = [name for name, _ in module.named_parameters()]

    def step(weights: list[Tensor], args: tuple[Tensor, ...]) -> Tensor:
        held = dict(zip(names, weights, strict=True))
        return loss_of(torch.func.functional_call(module, held, args))

    def as_it_is(gm: Any, example_inputs: Any) -> Any:
        return make_boxed_func(gm)

    compiled: Any = aot_function(
        step,
        fw_compiler=as_it_is,
        bw_compiler=as_it_is,
        partition_fn=partition,
        decompositions=DECOMPOSED,
    )
    compiled(list(module.parameters()), args).backward()
    return sum(sizes)
