"""The blocks of ATen's reductions, and the semaphores at which those that share an output meet.

`setReduceConfig` of ATen/native/cuda/Reduce.cuh for works that say how they are loaded (`vector`);
others, of libraries' own kernels, are as they are.
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
_KEPT = ("cols", "inner", "itemsize", "vector", "kind", "again")
_ADDS = {"sum", "norm"}
"""Reductions by additions; comparisons with NaNs and Welford's steps are longer chains."""
_CHAIN = 4
"""Values that count as a step in such a chain."""
_LEAST, _MOST = 16, 256  # values a thread: what blocks are shared down to, and split above


@dataclass(frozen=True)
class Grid:
    """Blocks by outputs and by parts of one output, threads in each, values a thread, and how
    many parts' results each thread of the last block gathers."""

    blocks: int
    parts: int
    threads: int
    values: int
    gathers: int


@lowering("reduction")
def reduction(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The reduction, after a memset where blocks must meet."""
    d = work.dims
    if "vector" not in d:
        return (work,)
    across = d["across"]
    found = grid(d["rows"], d["cols"], across, d["vector"], gpu)
    adds = d["kind"] in _ADDS
    each = d["unroll"] if across or d["vector"] == 1 else d["vector"]
    if across and not adds:  # a thread's outputs are compared one after another
        each = max(_CHAIN // d["vector"], 1)
    dims = {
        **{name: d[name] for name in _KEPT},
        "outputs": d["rows"],
        "variant": _variant(d, across, found.parts > 1),
        "runs": -(-found.blocks * found.parts * found.threads // _THREADS),
        "blocks": found.blocks,
        "parts": found.parts,
        "threads": found.threads,
        "steps": -(-found.values // each) + found.gathers,
    }
    kernel = replace(work, dims=dims)
    if found.parts == 1:
        return (kernel,)
    return Work("fill", write_bytes=4 * found.blocks, dtype="int32"), kernel


def _variant(d: dict[str, Any], across: bool, shared: bool) -> str:
    if not across and d["nested"]:
        return "nested"
    if across and shared:
        return "columns_shared"
    way = "columns" if across else "rows"
    return way if d["kind"] in _ADDS else f"{way}_chained"


def grid(outputs: int, inputs: int, across: bool, vector: int, gpu: GPU) -> Grid:
    """How `outputs` sums of `inputs` each are laid out, `vector` inputs a load along rows or
    outputs a load across them."""
    each = vector if across else 1  # outputs a thread
    first, second = (outputs // each, inputs) if across else (inputs // vector, outputs)
    wide, high = _block(first, second, _THREADS // each)
    together = 1 if across else wide  # threads that share an output
    values = -(-inputs // together)
    shares = values >= min(high * 16, _MOST)
    side = wide if across else 1
    if shares:
        together *= high
        values = -(-inputs // together)
    else:
        side *= high
    blocks = -(-(outputs // each) // side)
    parts = 1
    wanted = units_of(gpu) * (threads_of_unit(gpu) // (wide * high))
    if shares and values >= _MOST and blocks <= wanted:
        parts = max(min(-(-wanted // blocks), -(-values // _LEAST)), -(-values // _MOST))
        values = -(-inputs // (together * parts))
    gathering = high if across else wide * high
    gathers = -(-parts // gathering) if parts > 1 else 0
    return Grid(blocks, parts, wide * high, values, gathers)


def _block(first: int, second: int, most: int) -> tuple[int, int]:
    """A block's width and height: powers of 2, a warp wide before it is high, then wider."""
    first, second = (min(1 << (max(n, 1).bit_length() - 1), most) for n in (first, second))
    high = min(second, most // min(first, _WARP))
    return min(first, most // high), high
