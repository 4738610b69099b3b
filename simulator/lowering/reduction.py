"""Blocks of ATen's reductions, and the semaphores of blocks that share an output.

The rules are those of `setReduceConfig` in ATen/native/cuda/Reduce.cuh, for works with a load width
(`vector`). Works of library kernels are unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import lowering
from simulator.lowering.turns import threads_of_unit
from simulator.records import Signature
from simulator.timing.rates import units_of

_THREADS = 512
_WARP = 32
_COPIED_DIMS = ("cols", "inner", "itemsize", "vector", "kind", "again")
_ADDS = {"sum", "norm", "truth"}
"""Reductions by additions or logical operations; NaN comparisons and Welford steps are longer
dependency chains."""
_CHAIN = 4
"""Values that one step of such a chain processes."""
_LEAST, _MOST = 16, 256  # values per thread: minimum if split, maximum if not


@dataclass(frozen=True)
class Grid:
    """The numbers of blocks over the outputs, of parts of one output, of threads per block, of
    values per thread, and of partial results that each thread of the last block gathers."""

    blocks: int
    parts: int
    threads: int
    values: int
    gathers: int


@lowering("reduction")
def reduction(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The reduction, after a memset if blocks share outputs."""
    d = work.dims
    if "vector" not in d:
        return (work,)
    across = d["across"]
    layout = grid(d["rows"], d["cols"], across, d["vector"], gpu)
    adds = d["kind"] in _ADDS
    values_per_step = d["unroll"] if across or d["vector"] == 1 else d["vector"]
    if across and not adds:  # a thread compares its outputs serially
        values_per_step = max(_CHAIN // d["vector"], 1)
    dims = {
        **{name: d[name] for name in _COPIED_DIMS},
        "outputs": d["rows"],
        "variant": _variant(d, across, layout.parts > 1),
        "runs": -(-layout.blocks * layout.parts * layout.threads // _THREADS),
        "blocks": layout.blocks,
        "parts": layout.parts,
        "threads": layout.threads,
        "steps": -(-layout.values // values_per_step) + layout.gathers,
    }
    kernel = replace(work, dims=dims)
    if layout.parts == 1:
        return (kernel,)
    return Work("fill", write_bytes=4 * layout.blocks, dtype="int32"), kernel


def _variant(d: dict[str, Any], across: bool, shared: bool) -> str:
    if not across and d["nested"]:
        return "nested"
    if across and shared:
        return "columns_shared"
    way = "columns" if across else "rows"
    return way if d["kind"] in _ADDS else f"{way}_chained"


def grid(outputs: int, inputs: int, across: bool, vector: int, gpu: GPU) -> Grid:
    """Grid of `outputs` sums of `inputs` each; a load takes `vector` inputs along rows or outputs
    across them."""
    values_per_step = vector if across else 1  # outputs per thread
    first, second = (outputs // values_per_step, inputs) if across else (inputs // vector, outputs)
    wide, high = _block(first, second, _THREADS // values_per_step)
    threads_per_output = 1 if across else wide  # threads that share an output
    values = -(-inputs // threads_per_output)
    shares = values >= min(high * 16, _MOST)
    side = wide if across else 1
    if shares:
        threads_per_output *= high
        values = -(-inputs // threads_per_output)
    else:
        side *= high
    blocks = -(-(outputs // values_per_step) // side)
    parts = 1
    resident_blocks = units_of(gpu) * (threads_of_unit(gpu) // (wide * high))
    if shares and values >= _MOST and blocks <= resident_blocks:
        parts = max(min(-(-resident_blocks // blocks), -(-values // _LEAST)), -(-values // _MOST))
        values = -(-inputs // (threads_per_output * parts))
    gathering = high if across else wide * high
    gathers = -(-parts // gathering) if parts > 1 else 0
    return Grid(blocks, parts, wide * high, values, gathers)


def _block(first: int, second: int, most: int) -> tuple[int, int]:
    """The width and height of a block, which are powers of 2. The width grows first, up to a warp;
    then the height; then the width again."""
    first, second = (min(1 << (max(n, 1).bit_length() - 1), most) for n in (first, second))
    high = min(second, most // min(first, _WARP))
    return min(first, most // high), high
