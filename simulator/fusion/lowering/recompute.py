"""Values that a generated kernel computes where it reads them: once for each element of the reading
loop, not of the value. A position bias of T5, 17 ops over [256, 256], is computed again for each
batch and head, and twice if the kernel loops along its rows twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from simulator.fusion.node import Node, Pending, Recomputed


def merge_recomputed(pending: Iterable[Pending], apart: bool = False) -> dict[int, Recomputed]:
    """All ops that are recomputed for these values: once for all values, or once for each value if
    these are read at places that lie `apart`, as the operands of a concatenation."""
    merged: dict[int, Recomputed] = {}
    for each in pending:
        for op, value in each.recomputed.items():
            before = merged[op].instructions if apart and op in merged else 0
            merged[op] = Recomputed(value.instructions + before, value.shape)
    return merged


def instructions(nodes: Sequence[Node]) -> int:
    """Issue slots of the kernel of these nodes. A value that several nodes recompute counts once,
    unless a reduction loops along the rows: after such a reduction the kernel recomputes all
    values."""
    last = max((i for i, node in enumerate(nodes) if node.kind == "reduction"), default=-1)
    sums = nodes[last] if last >= 0 else None
    recomputes_all = sums is not None and sums.looped
    passes = [nodes[: last + 1], nodes[last + 1 :]] if recomputes_all else [nodes]
    slots = sum(node.instructions for node in nodes)
    for kernel_pass in passes:
        each: dict[int, int] = {}
        for node in kernel_pass:
            for op, value in node.recomputed.items():
                each[op] = max(each.get(op, 0), _spread(value, node.elements, sums))
        slots += sum(each.values())
    return slots


def _spread(value: Recomputed, elements: int, sums: Node | None) -> int:
    """Slots of a value in a loop over `elements`. In a kernel with a reduction, a value that is
    constant along a row is computed once per row, and a value that all rows share once per block of
    rows."""
    own = prod(value.shape)
    if sums is not None and sums.cols > 1 and elements == sums.elements:
        if own == sums.rows or value.shape[-1:] == (1,):
            elements = sums.rows
        elif own == sums.cols:
            elements = own
    return value.instructions * elements // max(own, 1)
