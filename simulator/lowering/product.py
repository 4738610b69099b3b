"""Matrix products as cuBLAS launches them: split-K with its reduction, and tile counters.

The rules were observed on 3,391 distinct products on an H200 (cuBLAS 13.0). They predict the split
correctly for 96% of these products, and the counter for 96% of those that use bulk loads. A tenth
of the products without bulk loads also clear a counter, which no rule predicts yet.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.costs.matmul.products import by_dot_products
from simulator.hardware.gpu import GPU
from simulator.lowering.grouped_product import grouped_kernel
from simulator.lowering.registry import lowering
from simulator.records import Signature
from simulator.timing.rates import UNITS_SEEN
from simulator.varying import in_arrays

_BLOCK = 64
_FEED = 48.0
_WAVES_BY_COUNTER = 2
_SMALLEST = 1.8e6  # minimum number of multiplications
_FEW_ROWS, _MANY_OUTPUTS, _SHALLOW = 16, 768, 128
_THIN, _MANY_TILES = 32, 4096
_SERIAL_DEPTH = 128
"""Elements of a row in one step of the kernel for few rows, whose threads multiply a row from start
to end. On an H200, 17 outputs of 2,555 elements take 10.5 µs, and 1,330 outputs of 12,992 elements
take 81 µs."""


class _Splitting(NamedTuple):
    """A product of depth `least` or more is split if its depth exceeds `a_block` per 64 × 64 block
    of the result; with a bias, only if `biased`."""

    least: int
    a_block: float
    biased: bool


_BULK = _Splitting(2560, 64, biased=True)  # 16-bit products with bulk loads
_EIGHTHS = _Splitting(2560, 160, biased=True)
_NARROW = _Splitting(512, 4.8, biased=False)
_ROUNDED = _Splitting(64, 16, biased=False)
_VECTOR = _Splitting(256, 3.0, biased=False)


@lowering("gemm")
def product(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The product's kernels in order: counter reset, product, reduction of its splits."""
    d = work.dims
    if by_dot_products(work) or "template" in d:  # a generated product is one kernel
        return (work,)
    if "groups" in d:
        return (grouped_kernel(work),)
    units = gpu.units or UNITS_SEEN
    if _has_few_rows(work):
        return (replace(work, dims=d | {"variant": "few", "steps": -(-d["k"] // _SERIAL_DEPTH)}),)
    if _has_small_tiles(work):
        return (replace(work, dims=d | {"variant": "tensor_half_thin"}),)
    if _splits(work, units):
        partial_bytes = 2 * 4 * d["b"] * d["m"] * d["n"]  # two single-precision partial sums
        out_bytes = work.write_bytes
        return (
            work,
            Work(
                "reduction",
                read_bytes=partial_bytes,
                write_bytes=out_bytes,
                instructions=d["b"] * d["m"] * d["n"],
                dims={"outer": out_bytes, "inner": 2},
            ),
        )
    if _shares_depth(work):
        return _depth_kernels(work)
    hopper = (gpu.compute_capability or (0, 0)) >= (9, 0)
    if (
        hopper
        and _uses_bulk_loads(work)
        and product_blocks(work, units) > _WAVES_BY_COUNTER * units
    ):
        return Work("fill", write_bytes=4, dtype="int32"), work  # a counter distributes the tiles
    return (work,)


def _has_few_rows(work: Work) -> bool:
    """Whether a product is a single-precision linear layer of few rows, whose weights pass once
    through vector lanes (`gemmSN_TN_kernel`). Without a bias, a deep product with few outputs is
    split instead."""
    d = work.dims
    layer = d["b"] == 1 and not d.get("transa") and d.get("transb") and work.engine == "vector"
    if work.dtype != "float32" or not layer or not 2 <= d["m"] <= _FEW_ROWS:
        return False
    return bool(d.get("epilogue")) or d["n"] >= _MANY_OUTPUTS or d["k"] <= _SHALLOW


def _has_small_tiles(work: Work) -> bool:
    """Whether a thin 16-bit product of very many short lines that bulk loads cannot fetch is cut
    into tiles of 32 × 32 (`cutlass_80_wmma_tensorop_…_32x32_…_align2`), which all take about the
    same time."""
    d = work.dims
    if work.dtype not in ("float16", "bfloat16") or d["b"] > 1 or _uses_bulk_loads(work):
        return False
    thin = min(d["m"], d["n"]) <= _THIN and d["k"] <= 2 * _THIN
    return thin and d["m"] * d["n"] >= _MANY_TILES * _THIN * min(d["m"], d["n"])


def _uses_bulk_loads(work: Work) -> bool:
    """Whether a kernel can load the operands through the tensor memory accelerator, which no kernel
    for int8 uses."""
    aligned = work.dims.get("align_bytes", 16) == 16
    return work.engine == "tensor" and aligned and not work.dtype.endswith("int8")


def _splitting(work: Work) -> _Splitting | None:
    if work.engine == "vector":
        return _VECTOR
    if work.dtype == "tf32":
        return _ROUNDED
    if work.dtype in ("float16", "bfloat16"):
        return _BULK if _uses_bulk_loads(work) else _NARROW
    return None if work.dtype.endswith("int8") else _EIGHTHS


def _splits(work: Work, units: int) -> bool:
    """Whether blocks share the reduced dimension.

    They do if the loop of a block is long and there are few blocks; the threshold scales with the
    number of SMs. A batch is never split.
    """
    d, rule = work.dims, _splitting(work)
    if rule is None or d["b"] > 1 or (d.get("epilogue") and not rule.biased):
        return False
    blocks = ceil(d["m"] / _BLOCK) * ceil(d["n"] / _BLOCK)
    idle = units / UNITS_SEEN
    return d["k"] >= rule.least and d["k"] * idle > rule.a_block * blocks


def product_blocks(work: Work, units: int) -> float:
    """Number of blocks of the fastest tile, the one with the smallest waves · (area + operand
    loads)."""
    d = work.dims
    if work.dtype == "tf32":
        return d["b"] * ceil(d["m"] / 128) * ceil(d["n"] / 128)
    return _fastest_tile_blocks(d["b"], d["m"], d["n"], units)


@in_arrays
def _fastest_tile_blocks(b: Any, m: Any, n: Any, units: int) -> Any:
    high, wide = _tiles()
    b, m, n = (np.asarray(size)[..., None] for size in (b, m, n))
    blocks = b * np.ceil(m / high) * np.ceil(n / wide)
    time = np.ceil(blocks / units) * (high * wide + _FEED * (high + wide))
    least = np.argmin(time, axis=-1)[..., None]
    return np.take_along_axis(blocks, least, axis=-1)[..., 0]


@lru_cache
def _tiles() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heights and widths: one side a multiple of 64, as the instruction requires, the other of
    8."""
    sides = [64 * i for i in range(1, 5)]
    pairs = {(a, b) for a in sides for b in range(8, 257, 8) if a * b <= 256 * 144}
    tiles = np.array(sorted(pairs | {(b, a) for a, b in pairs}), float)
    return tiles[:, 0], tiles[:, 1]


def _shares_depth(work: Work) -> bool:
    """Whether cuBLAS splits the depth of a biased single-precision product in a special kernel: for
    the smallest products except thin ones, and for deep products with few blocks of 128 × 128."""
    d = work.dims
    if work.engine != "vector" or not d.get("epilogue") or d["b"] > 1:
        return False
    results = d["m"] * d["n"]
    if results * d["k"] <= _SMALLEST:
        return min(d["m"], d["n"]) >= 10
    blocks = ceil(d["m"] / 128) * ceil(d["n"] / 128)
    return results >= 40_000 and d["k"] > 80 * blocks


def _depth_kernels(work: Work) -> tuple[Work, ...]:
    """Clear a counter, scale the result, sum the parts, add the bias (`sgemm_largek`)."""
    out = work.write_bytes
    elements = work.dims["b"] * work.dims["m"] * work.dims["n"]
    dims = {"elements": elements, "inputs": 1, "contiguous": True}
    touch = Work("pointwise", read_bytes=out, write_bytes=out, instructions=elements, dims=dims)
    return Work("fill", write_bytes=4, dtype="int32"), touch, work, touch
