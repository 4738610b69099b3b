"""FLOPs and instructions of a generated loop for one element, by the op names of Inductor's loop
bodies (torch/_inductor/ops_handler.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simulator.costs import traits_of
from simulator.costs.kernels.elementwise import Steps
from simulator.costs.pointwise.tables import BINARY, COMPARISON, FUNCTIONAL, UNARY

_PHILOX = (0, 80)  # ten rounds of a generator (simulator.fusion.lowering.arithmetic)
_OWN: dict[str, Steps] = {
    "truediv": (1, 8), "div_rn": (1, 8), "floordiv": (2, 14), "truncdiv": (2, 14), "mod": (3, 20),
    "pow": (1, 74), "fma": (2, 1), "mul_rn": (1, 1), "sigmoid": (3, 16), "where": (0, 1),
    "masked": (0, 1), "and_": (1, 1), "or_": (1, 1), "xor": (1, 1), "logical_and": (1, 1),
    "logical_or": (1, 1), "rand": _PHILOX, "randn": (3, 120), "randint64": _PHILOX,
    "load_seed": (0, 1), "load": (0, 1), "store": (0, 1), "store_reduction": (0, 0),
    "to_dtype": (0, 1), "indirect_indexing": (0, 3), "index_expr": (0, 1),
}  # fmt: skip
"""Ops with other names in the cost tables, and ops that only loops have."""
_NONE = ("constant", "get_index", "output", "to_dtype_bitcast", "inline_asm_elementwise")
_REDUCING: dict[str, Steps] = {
    # mean + (x − mean) / n and m2 + δ·(x − mean): 5, and a division per lane except a row's last
    "welford_reduce": (6, 19),
    "online_softmax_reduce": (5, 30),
}


def steps(ops: Iterable[tuple[str, str]]) -> Steps:
    """FLOPs and instructions for one element of ops (name, kind of reduction or "")."""
    flops = instructions = 0
    for name, reducing in ops:
        f, i = _REDUCING.get(reducing, (1, 1)) if name == "reduction" else _step(name)
        flops, instructions = flops + f, instructions + i
    return flops, instructions


def ops_of(loop: Any) -> list[tuple[str, str]]:
    """The ops (name, kind of reduction or "") of an Inductor loop."""
    body = loop._body
    blocks = [body.root_block, *body.subblocks.values()]
    ops: list[tuple[str, str]] = []
    for block in blocks:
        for node in block.graph.nodes:
            if node.op == "call_method":
                reducing = str(node.args[3]) if node.target == "reduction" else ""
                ops.append((str(node.target), reducing))
            elif node.op == "call_module" and "indirect" in str(node.target):
                ops.append(("indirect_indexing", ""))
    return ops


def _step(name: str) -> Steps:
    if name in _OWN:
        return _OWN[name]
    if name in _NONE:
        return 0, 0
    plain = name.removeprefix("libdevice_").removeprefix("special_")
    for table in (BINARY, UNARY, COMPARISON, FUNCTIONAL):
        if plain in table:
            slots = traits_of(plain).slots
            return table[plain].flops, table[plain].instructions if slots is None else slots
    return 1, 1
