"""Linear layers in a trace: products of an activation with a weight, or of rows sorted by expert
with the weights of a mixture of experts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.costs import works
from simulator.records import Op, Tensor, Trace
from simulator.scenario.module_pattern import block

_OPERANDS = {
    "aten.mm.default": ("self", "mat2", None),
    "aten.addmm.default": ("mat1", "mat2", "self"),
    "aten._grouped_mm.default": ("self", "mat2", None),
}


_TRANSPOSITIONS = ("aten.t.default", "aten.transpose.int")


@dataclass(frozen=True)
class Product:
    """The product of op `index`: a [m, k] · b [k, n] (+ bias), each with its storage.

    `weight` is True if b is a weight, as in the forward pass and for the gradient of an activation,
    and False for the gradient of a weight. `ends` are the last rows of the experts if b is
    [experts, k, n].
    """

    index: int
    op: Op
    a: tuple[Tensor, int]
    b: tuple[Tensor, int]
    bias: tuple[Tensor, int] | None
    out: tuple[Tensor, int]
    weight: bool
    ends: tuple[Tensor, int] | None = None

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows, columns and depth: m, n, k."""
        return self.a[0].shape[0], self.b[0].shape[-1], self.b[0].shape[-2]

    @property
    def experts(self) -> int:
        """The number of experts, whose weights are stacked in `b`; 1 for a linear layer."""
        return self.b[0].shape[0] if self.ends is not None else 1


def linears(trace: Trace, modules: str) -> Iterator[Product]:
    """Products with a weight, and products that compute a weight's gradient, in matching
    modules."""
    weights = _weights(trace)
    for index, op in enumerate(trace.ops):
        operands = _OPERANDS.get(op.name)
        if operands is None or block(modules, op.module) is None or op.phase == "optimizer":
            continue
        names = op.signature.names
        place = {n: names.index(n) for n in operands if n is not None and n in names}
        a_name, b_name, bias_name = operands
        a, b = ((op.inputs[place[n]], op.storages[place[n]]) for n in (a_name, b_name))
        bias = None
        if bias_name is not None:
            bias = op.inputs[place[bias_name]], op.storages[place[bias_name]]
        if bias is not None and len(bias[0].shape) != 1:
            continue
        ends = None
        if op.name == "aten._grouped_mm.default":
            if len(a[0].shape) != 2 or len(b[0].shape) != 3 or "offs" not in names:
                continue  # the gradient of experts' weights, or a batch
            ends = op.inputs[names.index("offs")], op.storages[names.index("offs")]
        weight = b[1] in weights
        # a weight's gradient is grad.t() @ x, neither of which is a weight
        if weight or (op.phase == "backward" and a[1] not in weights):
            out = op.outputs[0], op.storages[-1]
            yield Product(index, op, a, b, bias, out, weight, ends)


def _weights(trace: Trace) -> set[int]:
    """Storages of weights, and of their low-precision copies by autocast."""
    weights = {n for n, s in enumerate(trace.storages) if s.role == "weight"}
    for op in trace.ops:
        if op.name == "aten._to_copy.default" and op.storages[0] in weights:
            weights.add(op.storages[-1])
    return weights


def only_for(trace: Trace, replaced: set[int]) -> set[int]:
    """Storages of weights that no kernel outside `replaced` (indices of ops) touches."""
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
    """The op just before `index` if it only transposes this weight, else None."""
    before = index - 1
    if before >= 0:
        op = trace.ops[before]
        if op.name in _TRANSPOSITIONS and op.storages[0] == storage:
            return before
    return None
