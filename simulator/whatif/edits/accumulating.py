"""Gradient accumulation: several forward and backward passes before the optimizer's step."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.records import Op, Signature, Storage, Trace
from simulator.scenario.resolved import Selective
from simulator.whatif.edits.rewriting import call


@dataclass(frozen=True)
class Accumulated(Selective[int]):
    """Run `steps` forward and backward passes of the batch, then one optimizer step.

    The gradients of the first backward pass are kept. Each later pass adds its gradients to them,
    weight by weight (torch/csrc/autograd/functions/accumulate_grad.h), and frees its gradients.
    """

    steps: int
    rank: int = 4

    def chosen(self, trace: Trace) -> int:
        """The index of the optimizer's first op; the number of ops without an optimizer. Raises
        InputError if the step is inference."""
        if trace.phase != "training":
            raise InputError(
                "accumulate: the step is inference: expected training; predict training instead"
            )
        return next(
            (i for i, op in enumerate(trace.ops) if op.phase == "optimizer"), len(trace.ops)
        )

    def rewritten(self, trace: Trace, chosen: int) -> Trace:
        """The trace with the ops before this index repeated."""
        return _Repetition(trace, chosen, self.steps).trace()


class _Repetition:
    def __init__(self, trace: Trace, end: int, steps: int) -> None:
        self.origin, self.end, self.steps = trace, end, steps
        self.gradients = {
            n for n, s in enumerate(trace.storages) if s.role == "gradient" and s.born >= 0
        }
        self.final: dict[int, list[int]] = {}  # op -> gradients that are complete after it
        touched: dict[int, int] = {}
        for index, op in enumerate(trace.ops[:end]):
            touched.update(dict.fromkeys(op.storages, index))
        for number in sorted(self.gradients & touched.keys()):
            self.final.setdefault(touched[number], []).append(number)
        self.adds: dict[tuple[int, int], Signature] = {}

    def trace(self) -> Trace:
        old, end = self.origin, self.end
        ops = list(old.ops[:end])
        storages = list(old.storages)
        breaks = list(old.breaks)
        for _ in range(self.steps - 1):
            place = self._once_more(ops, storages)
            breaks += [graph_break.moved(place) for graph_break in old.breaks]
        shift = len(ops) - end
        for number, s in enumerate(old.storages):
            late = s.freed is not None and s.freed >= end
            storages[number] = replace(
                s,
                born=s.born + shift if s.born >= end else s.born,
                freed=s.freed + shift if late and s.freed is not None else s.freed,
            )
        return replace(
            old,
            ops=[*ops, *old.ops[end:]],
            storages=storages,
            samples=old.samples * self.steps,
            tokens=None if old.tokens is None else old.tokens * self.steps,
            assumptions=[
                replace(a, op=a.op + (shift if a.op >= end else 0)) for a in old.assumptions
            ],
            breaks=breaks,
        )

    def _once_more(self, ops: list[Op], storages: list[Storage]) -> list[int]:
        """Append one more forward and backward pass; return the place of each op of the first
        pass."""
        start = len(ops)
        mapped: dict[int, int] = {}
        place: list[int] = []
        for index, op in enumerate(self.origin.ops[: self.end]):
            place.append(len(ops))
            for s in op.storages:
                if s not in mapped and 0 <= self.origin.storages[s].born < self.end:
                    mapped[s] = len(storages)
                    storages.append(self.origin.storages[s])
            ops.append(replace(op, storages=tuple(mapped.get(s, s) for s in op.storages)))
            for number in self.final.get(index, ()):
                ops.append(self._add(op, number, mapped[number]))
                new = storages[mapped[number]]
                storages[mapped[number]] = replace(new, role="activation", freed=-len(ops))
        place.append(len(ops))
        for number, new in mapped.items():
            s = storages[new]
            if s.freed is not None and s.freed < 0:
                freed = -s.freed  # added to the gradient, then freed
            else:
                whole = s.freed is None or s.freed > self.end
                freed = place[self.end if whole or s.freed is None else s.freed]
            storages[new] = replace(
                s, born=max(place[self.origin.storages[number].born], start), freed=freed
            )
        return place

    def _add(self, op: Op, gradient: int, new: int) -> Op:
        offset = len(op.inputs)
        tensors = [*op.outputs, *op.inputs]
        numbers = [*op.storages[offset:], *op.storages[:offset]]
        tensor = tensors[numbers.index(gradient)]
        add = call(
            op,
            "aten.add_.Tensor",
            {"self": (tensor, gradient), "other": (tensor, new)},
            [(tensor, gradient)],
        )
        key = id(op.signature), numbers.index(gradient)
        return replace(add, signature=self.adds.setdefault(key, add.signature))
