"""Reductions that ATen shares among blocks, whose semaphores are cleared first.

From `setReduceConfig` (ATen/native/cuda/Reduce.cuh) and recordings on an H200: a reduction across
rows of a packed matrix is shared from 1,024 elements an output on, one along a row from 256
elements for each of a block's 512 threads on.
"""

from __future__ import annotations

from msgspec.structs import replace

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
    clear = Work("fill", write_bytes=4 * max(1, rows // 32), dtype="int32")
    if across:
        return clear, work
    shared = {**d, "rows": rows * _blocks_a_row(cols, gpu)}
    return clear, replace(work, dims=shared)


def _blocks_a_row(cols: int, gpu: GPU) -> int:
    """Blocks of 512 threads, four a unit, that share one row: each thread takes 16 to 256
    elements (`setReduceConfig`)."""
    values = cols // 512
    return max(min(4 * (gpu.units or 1), values // 16), values // 256, 1)
