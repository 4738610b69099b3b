"""The seeds of a compiled step's random numbers: one eager kernel draws a seed for each draw
(`replace_random_passes` of torch/_inductor/fx_passes/replace_random.py)."""

from __future__ import annotations

from simulator.fusion.costed import costed
from simulator.fusion.graphs import graphs
from simulator.fusion.node import Node
from simulator.records import Op, Signature, Tensor, Trace


def drawing(trace: Trace, computes: list[bool]) -> list[int]:
    """The ops that draw random numbers in a generated kernel."""
    parts = graphs(trace)
    return [
        index
        for index, op in enumerate(trace.ops)
        if computes[index]
        and op.phase == "forward"
        and not parts.eager(index)
        and _draws(op.signature)
    ]


def _draws(op: Signature) -> bool:
    families = {work.family for work in costed(op) or ()}
    return op.name == "aten.native_dropout.default" or "random" in families


def seeds(op: Op, index: int, count: int, key: int) -> Node:
    """The kernel that fills `count` seeds, before op `index`, the first op that draws random
    numbers."""
    out = Tensor((count,), "int64", (1,))
    call = Op(Signature("aten.randint.low", (), (out,), (), {}), op.module, op.phase, (0,))
    return Node("library", 1, writes={key: out.nbytes}, ops=(index,), call=call)
