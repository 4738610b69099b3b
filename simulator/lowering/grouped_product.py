"""The grouped products of ATen: CUTLASS' persistent kernels for Hopper, one launch for all groups.

A cluster of two blocks takes two tiles, one below the other (with float8 and small tiles also side
by side), even if the group has fewer rows. The kernel has tiles of 64 × 128 if a mean group has at
most 128 rows or columns, else of 128 × 256 (ATen/native/cuda/GroupMM.cu). All 1,360 grouped
products of `calibration.sweeps.experts` ran like this on an H200. Packed weights and fused experts
use kernels of serving engines, with single tiles of 16 to 64 rows, which vLLM chooses by the mean
number of rows of a group.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.matmul.routing import row_tiles

_FEW = 128
_SMALL, _LARGE = (128, 128), (256, 256)
"""Rows and columns of a cluster's tiles."""
_ENGINE_ROWS = (16, 32, 64)
_DEEP = 64  # elements per step along the depth


def grouped_kernel(work: Work) -> Work:
    """The product as the tiles of its groups: `b` rows of tiles, each of `m` rows. `lines` is the
    number of rows of the product."""
    d = work.dims
    float8 = work.dtype.startswith(("float8", "float4"))
    name = "grouped_float8" if float8 else "grouped"
    m, n, k, groups = (d[side] for side in ("m", "n", "k", "groups"))
    if d["split"] == "depth":
        mean = -(-k // groups)
        sizes = {"b": groups, "m": _up(m, 256), "n": _up(n, 256), "k": _up(mean, _DEEP), "lines": k}
        return replace(work, dims=d | sizes | {"variant": name})
    if d["split"] == "columns":
        m, n = n, m
    if "item_bytes" in d or "fused" in d:
        high = next((rows for rows in _ENGINE_ROWS if m // groups <= rows), _ENGINE_ROWS[-1])
        sizes = {"b": row_tiles(m, groups, high), "m": high, "n": n, "lines": m}
        return replace(work, dims=d | sizes)
    small = m // groups <= _FEW or n <= _FEW
    high, wide = _SMALL if small else _LARGE
    if small and float8:
        wide = 2 * wide
    sizes = {"b": row_tiles(m, groups, high), "m": high, "n": _up(n, wide), "lines": m}
    return replace(work, dims=d | sizes | {"variant": f"{name}_small" if small else name})


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
