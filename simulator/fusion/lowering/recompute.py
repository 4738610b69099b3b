"""Values that a generated kernel computes where it reads them: once for each element of the loop
that reads, not of the value. A bias of T5's positions, 17 ops over [256, 256], is computed for each
batch and head again, and twice where the kernel walks along its rows twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from simulator.fusion.node import Node, Pending, Recomputed


def merge_recomputed(held: Iterable[Pending]) -> dict[int, Recomputed]:
    """All ops that are computed again for these values."""
    merged: dict[int, Recomputed] = {}
    for each in held:
        merged |= each.recomputed
    return merged


def instructions(nodes: Sequence[Node]) -> int:
    """Issue slots of the kernel of these nodes. What several nodes recompute is computed once,
    unless a reduction loops along the rows: after it the kernel recomputes everything."""
    last = max((i for i, node in enumerate(nodes) if node.kind == "reduction"), default=-1)
    sums = nodes[last] if last >= 0 else None
    again = sums is not None and sums.looped
    passes = [nodes[: last + 1], nodes[last + 1 :]] if again else [nodes]
    slots = sum(node.instructions for node in nodes)
    for some in passes:
        each: dict[int, int] = {}
        for node in some:
            for op, value in node.recomputed.items():
                each[op] = max(each.get(op, 0), _spread(value, node.elements, sums))
        slots += sum(each.values())
    return slots


def _spread(value: Recomputed, elements: int, sums: Node | None) -> int:
    """Slots of a value in a loop over `elements`. Beside a reduction what is alike along a row is
    computed once a row, and what is alike in all rows once a block of them."""
    own = prod(value.shape)
    if sums is not None and sums.cols > 1 and elements == sums.elements:
        if own == sums.rows or value.shape[-1:] == (1,):
            elements = sums.rows
        elif own == sums.cols:
            elements = own
    return value.instructions * elements // max(own, 1)
