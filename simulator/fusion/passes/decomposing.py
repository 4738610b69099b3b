"""A trace in which decompositions replace some ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from simulator.fusion.dataflow import Value
from simulator.records import Op, Signature, Storage, Tensor, Trace, touches


@dataclass(frozen=True)
class DecomposedTrace:
    """`source[i]` is the op of the original trace that is, or contains, op i of `trace`."""

    trace: Trace
    source: Sequence[int]


Operand = tuple[str, Tensor, int]
"""An input's name, its tensor, and its storage."""


class GraphBuilder:
    """Collects the ops of the decomposed graph."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.fresh: list[Storage] = []
        self.parts: dict[int, Sequence[Op]] = {}
        self.signatures: dict[str, Signature] = {}
        self.wide: dict[tuple[Value, Tensor], int] = {}

    def storage(self, tensor: Tensor) -> int:
        self.fresh.append(Storage(tensor.nbytes, 0, 0, "activation"))
        return len(self.trace.storages) + len(self.fresh) - 1

    def op(
        self,
        like: Op,
        name: str,
        inputs: Sequence[Operand],
        *outputs: tuple[Tensor, int],
        **args: object,
    ) -> Op:
        """An op in the place of `like`, with these inputs (name, tensor, storage) and outputs
        (tensor, storage)."""
        signature = Signature(
            name,
            tuple(t for _, t, _ in inputs),
            tuple(t for t, _ in outputs),
            tuple(n for n, _, _ in inputs),
            args,
        )
        signature = self.signatures.setdefault(repr(signature), signature)
        storages = (*(s for _, _, s in inputs), *(s for _, s in outputs))
        return Op(signature, like.module, like.phase, storages)

    def build(self) -> DecomposedTrace:
        """The trace in which the parts replace their ops."""
        ops: list[Op] = []
        source: list[int] = []
        place: list[int] = []
        for index, op in enumerate(self.trace.ops):
            place.append(len(ops))
            parts = self.parts.get(index, (op,))
            ops += parts
            source += [index] * len(parts)
        place.append(len(ops))
        first, last = touches(ops)
        storages = [s.moved(place) for s in self.trace.storages]
        for number, s in enumerate(storages):
            if s.born >= 0:
                storages[number] = replace(s, born=max(s.born, first.get(number, 0)))
        for offset, s in enumerate(self.fresh):
            number = len(self.trace.storages) + offset
            storages.append(replace(s, born=first[number], freed=last[number] + 1))
        return DecomposedTrace(self.trace.with_ops(ops, storages, place), source)
