"""Matrix products as cuBLAS launches them: split-K with its reduction, and tile counters.

The rules were read off 669 distinct products recorded on an H200 (cuBLAS 13.0).
"""

from __future__ import annotations

from math import ceil

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature

_BLOCK = 64
_UNITS_SEEN = 132
_DEEP_TENSOR, _SHALLOWEST = 88, 3072
_DEEP_VECTOR = 2.2
_DYNAMIC_WAVES = 2.5


@lowering("gemm")
def product(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The product's kernels in order: counter reset, product, reduction of its splits."""
    d = work.dims
    units = gpu.units or _UNITS_SEEN
    if _splits(work, units):
        partial_bytes = 2 * 4 * d["b"] * d["m"] * d["n"]  # two single-precision partial sums
        out_bytes = work.write_bytes
        return (
            work,
            Work("reduction", read_bytes=partial_bytes, write_bytes=out_bytes,
                 instructions=d["b"] * d["m"] * d["n"], dims={"outer": out_bytes, "inner": 2}),
        )  # fmt: skip
    if _is_long_and_tiny(work):
        return _by_depth(work)
    hopper = (gpu.compute_capability or (0, 0)) >= (9, 0)
    tiles = d["b"] * ceil(d["m"] / 256) * ceil(d["n"] / 128)
    vector_loads = d.get("align_bytes", 16) == 16
    if work.engine == "tensor" and hopper and vector_loads and tiles > _DYNAMIC_WAVES * units:
        return Work("fill", write_bytes=4, dtype="int32"), work  # tiles are handed out by a counter
    return (work,)


def _splits(work: Work, units: int) -> bool:
    """Is the reduced dimension shared out among blocks?

    It is where a block's loop is long and there are few blocks: its length over the number of
    64 × 64 blocks passes a threshold, which scales with the units that would else stand idle. A
    bias is added in the epilogue, which a split product does not have.
    """
    d = work.dims
    if d.get("epilogue"):
        return False
    blocks = d["b"] * ceil(d["m"] / _BLOCK) * ceil(d["n"] / _BLOCK)
    idle = units / _UNITS_SEEN
    if work.engine == "tensor":
        return d["k"] >= _SHALLOWEST and d["k"] > _DEEP_TENSOR * blocks / idle
    return d["k"] >= 2 * _BLOCK and d["k"] > _DEEP_VECTOR * blocks / idle


def _is_long_and_tiny(work: Work) -> bool:
    """A biased single-precision product with so small a result that cuBLAS shares its depth."""
    d = work.dims
    tiny = d["b"] * ceil(d["m"] / 32) * ceil(d["n"] / 32) <= 4
    return work.engine == "vector" and bool(d.get("epilogue")) and tiny and d["k"] >= 128


def _by_depth(work: Work) -> tuple[Work, ...]:
    """Clear a counter, scale the result, add up the parts, add the bias (`sgemm_largek`)."""
    out = work.write_bytes
    elements = work.dims["b"] * work.dims["m"] * work.dims["n"]
    dims = {"elements": elements, "inputs": 1, "contiguous": True}
    touch = Work("pointwise", read_bytes=out, write_bytes=out, instructions=elements, dims=dims)
    return Work("fill", write_bytes=4, dtype="int32"), touch, work, touch
