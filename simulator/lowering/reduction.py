"""Reductions that ATen shares among blocks, whose semaphores are cleared first.

From `setReduceConfig` (ATen/native/cuda/Reduce.cuh) and recordings on an H200: a reduction across
rows of a packed matrix is shared from 1,024 elements an output on, one along a row from 256
elements for each of a block's 512 threads on.
"""

from __future__ import annotations

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature

_ACROSS, _ALONG = 1024, 256 * 512
_VECTOR = 4


@lowering("reduction")
def reduction(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The reduction, after a memset where blocks must meet."""
    d = work.dims
    cols, inner, rows = d.get("cols", 0), d.get("inner", 1), d.get("rows", 0)
    across = inner > 1 and cols >= _ACROSS and inner % _VECTOR == 0
    along = inner == 1 and cols >= _ALONG
    if not (across or along):
        return (work,)
    return Work("fill", write_bytes=4 * max(1, rows // 32), dtype="int32"), work
