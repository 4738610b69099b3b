"""Signatures written by hand, so that costs are tested without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.costs import Work, works
from simulator.records import Signature, Tensor

Spec = Tensor | tuple[tuple[int, ...], str]


def tensor(spec: Spec) -> Tensor:
    """A contiguous tensor of a (shape, dtype), or the tensor itself."""
    if isinstance(spec, Tensor):
        return spec
    shape, dtype = spec
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return Tensor(tuple(shape), dtype, tuple(strides))


def sig(
    name: str,
    /,
    outputs: Spec | Sequence[Spec] = (),
    aliases: Sequence[int] | None = None,
    args: dict[str, Any] | None = None,
    **inputs: Spec | list[Spec] | list[Any],
) -> Signature:
    """The signature of a call such as `sig("aten.add.Tensor", OUT, self=A, other=B)`.

    A list stands for a list argument; `aliases` numbers the memory regions of inputs, then outputs;
    by default every tensor has its own memory.
    """
    names: list[str] = []
    tensors: list[Tensor] = []
    for key, value in inputs.items():
        for one in value if isinstance(value, list) else [value]:
            names.append(key)
            tensors.append(tensor(one))
    outs = _several(outputs)
    regions = tuple(aliases) if aliases is not None else tuple(range(len(tensors) + len(outs)))
    return Signature(name, tuple(tensors), outs, tuple(names), dict(args or {}), regions)


def launched(op: Signature) -> tuple[Work, ...]:
    """The work of an op that has a cost."""
    kernels = works(op)
    assert kernels is not None, f"{op.name} has no cost"
    return kernels


def _several(outputs: Spec | Sequence[Spec]) -> tuple[Tensor, ...]:
    if isinstance(outputs, Tensor):
        return (outputs,)
    if len(outputs) == 2 and isinstance(outputs[1], str):
        return (tensor(outputs),)  # pyright: ignore[reportArgumentType]
    return tuple(tensor(one) for one in outputs)  # pyright: ignore[reportArgumentType]


def sums(works: Sequence[Work]) -> list[tuple[str, int, int, int, int]]:
    """For each kernel: the family, FLOPs, bytes read and written, and instructions."""
    return [(w.family, w.flops, w.read_bytes, w.write_bytes, w.instructions) for w in works]


def families(works: tuple[Work, ...]) -> list[str]:
    return [w.family for w in works]
