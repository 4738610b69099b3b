"""Ops of other libraries: their stated cost, and their results without a fake implementation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from simulator.costs.registry import STATED, stated_argument
from simulator.tracing.raising import MissingFakeError

_OF_TORCH = ("aten", "prims", "prim", "profiler", "quantized", "higher_order")
_MISSING = ("fake impl", "Meta kernel", "Meta' backend")
"""Parts of torch's error messages for an op that cannot run on tensors without data."""


def is_foreign(func: Any) -> bool:
    """Whether another library defines an op."""
    return func.namespace not in _OF_TORCH


def stated_cost(func: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """The figures that the user states for an op, as arguments of its signature."""
    if not sizes:
        return {}
    keys = {stated_argument(figure): f"{func._schema.name}.{figure}" for figure in STATED}
    return {name: sizes[key] for name, key in keys.items() if key in sizes}


def lacks_a_fake(error: BaseException) -> bool:
    """Whether torch raised because an op has no rule for tensors without data."""
    return any(words in str(error) for words in _MISSING)


def missing_fake(func: Any) -> MissingFakeError:
    """The error for an op without a fake implementation and without a stated cost."""
    name = func._schema.name
    return MissingFakeError(
        f"{name} has no rule for tensors without data: expected a fake implementation in the file "
        f'that defines the op, @torch.library.register_fake("{name}"), or its cost, '
        f"--op {name}=flops:N,bytes:N; with a cost, each result is assumed to be like the op's "
        "first input"
    )


def results_like_inputs(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The result of an op without a fake implementation: the tensor that it writes, else one like
    its first input."""
    schema = func._schema
    arguments = {schema.arguments[i].name: value for i, value in enumerate(args)} | {**kwargs}
    tensors = [t for t in tree_leaves(arguments) if isinstance(t, torch.Tensor)]
    results: list[Any] = []
    for returned in schema.returns:
        if "Tensor" not in str(returned.type) or not tensors:
            raise missing_fake(func)
        aliases = returned.alias_info.before_set if returned.alias_info else set()
        written = next(
            (
                arguments[a.name]
                for a in schema.arguments
                if a.alias_info and a.alias_info.before_set & aliases and a.name in arguments
            ),
            None,
        )
        results.append(torch.empty_like(tensors[0]) if written is None else written)
    return tuple(results) if len(results) > 1 else next(iter(results), None)
