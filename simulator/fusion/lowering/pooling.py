"""Pooling in a compiled step: a loop that reads each element of a small window, or a reduction.

Rules of torch/_inductor/lowering.py (`_max_pool_with_offsets`, `_avg_poolnd`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.costed import costed
from simulator.fusion.lowering.arithmetic import arithmetic
from simulator.fusion.lowering.reducing import reduce
from simulator.records import Op

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering

_WINDOW_SLOTS = 28
"""Issue slots for each element of a window in a reduction: its place in the image, four bounds and
a comparison, for 32 lanes of which 25 are needed. An H200 took 10.9 µs for 409,600 windows of 5 × 5
(torch 2.11)."""


def is_pool(op: Op) -> bool:
    """Whether an op takes the maximum or the average of windows."""
    return "max_pool" in op.name or "avg_pool" in op.name


def pool(lowering: Lowering, index: int, op: Op) -> None:
    """Lower a pooling of windows. Its input is stored if it takes several reads, since a loop
    computes it for each element of a window; so is the result of a reduction."""
    for value in lowering.flow.reads[index]:
        pending = lowering.pending.get(value)
        if pending is not None and is_pool(lowering.trace.ops[pending.ops[-1]]):
            lowering.store(value)
        else:
            lowering.hint(value)
    reads, (flops, slots) = lowering.inputs(index, op), arithmetic(op.signature)
    results = list(zip(lowering.flow.makes[index], op.outputs, strict=True))
    if lowering.kind(index) == "pointwise":
        lowering.make(index, reads, results, flops, slots)
        return
    rows, taps = op.outputs[0].numel, sum(w.dims["taps"] for w in costed(op.signature) or ())
    flow = lowering.flow
    values = [(v, t.nbytes) for v, t in results if flow.users.get(v) or v in flow.stored]
    work = flops, _WINDOW_SLOTS * rows * taps
    reduce(lowering, index, rows, taps, True, reads, values, work)
