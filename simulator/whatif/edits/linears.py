"""Linear layers in a trace: products of an activation with a weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.costs import works
from simulator.records import Op, Tensor, Trace
from simulator.scenario.module_pattern import block

_OPERANDS = {
    "aten.mm.default": ("self", "mat2", None),
    "aten.addmm.default": ("mat1", "mat2", "self"),
}


@dataclass(frozen=True)
class Product:
    """One product of op `index`: a [m, k] · b [k, n] (+ bias), each with its storage.

    `weight` is "b" forward and for the gradient of an activation; None for a weight's gradient.
    """

    index: int
    op: Op
    a: tuple[Tensor, int]
    b: tuple[Tensor, int]
    bias: tuple[Tensor, int] | None
    out: tuple[Tensor, int]
    weight: bool


def linears(trace: Trace, modules: str) -> Iterator[Product]:
    """The products with a weight, and those that make a weight's gradient, of modules that fit."""
    weights = _weights(trace)
    for index, op in enumerate(trace.ops):
        operands = _OPERANDS.get(op.name)
        if operands is None or block(modules, op.module) is None or op.phase == "optimizer":
            continue
        names = op.signature.names
        at = {n: names.index(n) for n in operands if n is not None and n in names}
        (a, b, c) = operands
        pick = [(op.inputs[at[n]], op.storages[at[n]]) for n in (a, b)]
        bias = (op.inputs[at[c]], op.storages[at[c]]) if c is not None else None
        if bias is not None and len(bias[0].shape) != 1:
            continue
        weight = pick[1][1] in weights
        # a weight's gradient is grad.t() @ x, both made in the step or given
        if weight or (op.phase == "backward" and pick[0][1] not in weights):
            yield Product(
                index, op, pick[0], pick[1], bias, (op.outputs[0], op.storages[-1]), weight
            )


def _weights(trace: Trace) -> set[int]:
    """Storages of weights, and of the copies in a lower precision that autocast makes of them."""
    found = {n for n, s in enumerate(trace.storages) if s.role == "weight"}
    for op in trace.ops:
        if op.name == "aten._to_copy.default" and op.storages[0] in found:
            found.add(op.storages[-1])
    return found


def only_for(trace: Trace, replaced: set[int]) -> set[int]:
    """Weights' storages that no kernel outside of `replaced` (ops by index) touches."""
    launching = [bool(works(s)) for s in trace.signatures[0]]
    rows = trace.signatures[1]
    inside: set[int] = set()
    outside: set[int] = set()
    for index, op in enumerate(trace.ops):
        if index in replaced:
            inside.update(op.storages)
        elif launching[rows[index]]:
            outside.update(op.storages)
    return {s for s in inside - outside if trace.storages[s].role == "weight"}


def view_before(trace: Trace, index: int, storage: int) -> int | None:
    """The op just before that did nothing but transpose this weight, if there is one."""
    before = index - 1
    if before >= 0:
        op = trace.ops[before]
        if op.name == "aten.t.default" and op.storages[0] == storage:
            return before
    return None
