"""Mixtures of experts with the fused kernels of serving engines.

vLLM (`fused_moe`) runs a mixture in six kernels. They are the softmax of the best scores, the sort
of the rows by expert, a product that reads each row from its place, the activation, another
product, and the sum of each token's experts. Biases are added within the products, and an operand
in low precision is quantised by one kernel. The products have tiles of 16 to 64 rows instead of
ATen's clusters of 128 and more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from simulator.costs import works
from simulator.errors import InputError
from simulator.records import Op, Trace
from simulator.scenario.module_pattern import block
from simulator.scenario.resolved import Selective
from simulator.whatif.edits.rewriting import Rewriting, Shared, call, dense

_GROUPED = ("aten._grouped_mm", "aten._scaled_grouped_mm")
_PRODUCTS = ("aten.mm.", "aten.addmm.", "aten._scaled_mm.", "aten._weight_int")
_SMALL = ("float8", "float4")


@dataclass(frozen=True)
class FusedExperts(Selective[list[str]]):
    """Replace the ops around the grouped products of the matching modules, and of their routers."""

    modules: str
    rank: int = 1

    def chosen(self, trace: Trace) -> list[str]:
        """The modules of the mixtures. Raises InputError if the step has none, or is training."""
        if trace.phase == "training":
            raise InputError(
                "fused_experts: these kernels have no backward pass: expected inference; "
                "predict inference instead"
            )
        mixtures = [m for m in _mixtures(trace) if block(self.modules, m) is not None]
        if not mixtures:
            raise InputError(
                f"fused_experts: no grouped product (torch's grouped_mm) in modules "
                f"{self.modules!r}: expected a mixture of experts; choose other modules"
            )
        return mixtures

    def rewritten(self, trace: Trace, chosen: list[str]) -> Trace:
        """The trace with fused kernels in these modules and their routers."""
        change, shared = Rewriting(trace), Shared()
        launching = [bool(works(s)) for s in trace.signatures[0]]
        launches = [i for i, row in enumerate(trace.signatures[1]) if launching[row]]
        routers = _routers(trace, chosen)
        for mixture in chosen:
            own = [i for i in launches if trace.ops[i].module == mixture]
            first, *_, last = [i for i in own if _is_grouped(trace.ops[i])]
            for i in own:
                fused_ops = _before(trace, i) if i < first else _within(trace, i, last, own)
                change.put(i, [shared(op) for op in fused_ops])
        last_of = {trace.ops[i].module: i for i in launches if _is_topk(trace.ops[i])}
        for i in launches:
            if (module := trace.ops[i].module) in routers:
                # one kernel chooses groups and experts
                earlier = _is_topk(trace.ops[i]) and i < last_of[module]
                change.put(i, [] if earlier else [shared(op) for op in _before(trace, i)])
        return change.done()


def _mixtures(trace: Trace) -> list[str]:
    """Modules with at least two grouped products."""
    count: dict[str, int] = {}
    for op in trace.ops:
        if _is_grouped(op):
            count[op.module] = count.get(op.module, 0) + 1
    return [module for module, products in count.items() if products > 1]


def _routers(trace: Trace, mixtures: Sequence[str]) -> set[str]:
    """The modules beside the mixtures that choose the experts."""
    parents = {m.rpartition(".")[0] for m in mixtures}
    choosing = {op.module for op in trace.ops if _is_topk(op)}
    return {m for m in choosing - set(mixtures) if m.rpartition(".")[0] in parents}


def _is_grouped(op: Op) -> bool:
    return op.name.startswith(_GROUPED)


def _is_topk(op: Op) -> bool:
    return op.name.startswith("aten.topk")


def _before(trace: Trace, index: int) -> Iterator[Op]:
    """The ops that replace an op before the first product; empty if the fused kernels do its
    work."""
    op = trace.ops[index]
    scores, place = op.inputs[0] if op.inputs else None, op.storages[0]
    if op.name.startswith(_PRODUCTS) or _quantises(op):
        yield op
    elif _is_topk(op) and scores is not None:
        shares = op.outputs[0], op.storages[len(op.inputs)]
        yield call(op, "aten._softmax.default", {"self": (scores, place)}, [shares], counted=True)
    elif op.name.startswith("aten.sort") and scores is not None:
        order = op.outputs[-1], op.storages[-1]
        yield call(op, "aten.clone.default", {"self": (scores, place)}, [order], counted=True)


def _within(trace: Trace, index: int, last: int, own: Sequence[int]) -> Iterator[Op]:
    """The ops that replace an op at or after the first product; empty if the fused kernels do its
    work."""
    op = trace.ops[index]
    if _is_grouped(op):
        signature = replace(op.signature, args={**op.signature.args, "fused": True})
        yield replace(op, signature=signature)
    elif _quantises(op) or (index < last and index == _activation(trace, last, own)):
        yield op
    elif index == own[-1] and op.name.startswith("aten.index_add"):
        place = op.signature.names.index("source")
        source, (tokens, width) = op.inputs[place], op.outputs[0].shape
        parts = dense((tokens, source.shape[0] // tokens, width), source.dtype)
        inputs, out = {"self": (parts, op.storages[place])}, (op.outputs[0], op.storages[-1])
        yield call(op, "aten.sum.dim_IntList", inputs, [out], {"dim": [1]}, counted=True)
    elif index == own[-1]:
        yield op


def _activation(trace: Trace, last: int, own: Sequence[int]) -> int:
    """The last op before the last product that does not belong to the quantisation of that
    product's operand."""
    operand = ("aten.amax", "aten._to_copy")
    return max(i for i in own if i < last and not trace.ops[i].name.startswith(operand))


def _quantises(op: Op) -> bool:
    return op.name.startswith("aten._to_copy") and op.outputs[0].dtype.startswith(_SMALL)
