"""Blocks of fused attention kernels, and the kernels that combine split keys.

A block processes some queries of one head with all keys, in tiles; in the backward pass, some keys
with all queries. The width of the heads determines the tile (flash: `run_mha_fwd_hdim*` of
flash_fwd_launch_template.h and flash_bwd_launch_template.h; efficient: `dispatch_cutlassF` and
`dispatch_cutlassB`; cuDNN: the names of its kernels on an H200).
"""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.costs.attention.fused import Band, band
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature
from simulator.timing.rates import units_of
from simulator.varying import at_each

_FLASH_WIDTHS = (32, 64, 96, 128, 192, 256)
_CUDNN_WIDTHS = (64, 128, 256)
_MOST_SPLITS = 128


class _Tile(NamedTuple):
    """Rows of a block, columns per iteration, and padded head width."""

    rows: int
    columns: int
    width: int


@lowering("attention")
def attention(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernel with its blocks in `dims`, and the kernel that combines its splits, if any."""
    d, units = work.dims, units_of(gpu)
    if op.name.startswith("compiled.flex_attention"):
        return (_flex(work),)
    if d["backend"] == "flash" and d["direction"] == "fwd":
        return _flash(op, work, units)
    if d["backend"] == "cudnn" and d["direction"] == "fwd" and d["sq"] == 1:
        return _cudnn_for_one(op, work, units)
    tile = _tile(work)
    kernel = _with_blocks(
        work, tile, d["b"] * d["h"], _head_layout(d, band(op), tile), _variant(work)
    )
    return (kernel,)


def _variant(work: Work) -> str | None:
    """The variant of a kernel: efficient attention has separate ones for float32 and, in the
    backward pass, for wide heads."""
    d = work.dims
    if d["backend"] != "efficient":
        return None
    wide = "_wide" if d["direction"] == "bwd" and max(d["d"], d["dv"]) > 64 else ""
    return f"efficient_{d['direction']}{'_single' if work.dtype == 'tf32' else ''}{wide}"


def _tile(work: Work) -> _Tile:
    d = work.dims
    width, forward = max(d["d"], d["dv"]), d["direction"] == "fwd"
    if d["backend"] == "flash":
        width = _next(width, _FLASH_WIDTHS)
        if forward:
            return _Tile(64 if width > 192 else 128, 128 if width <= 64 else 64, width)
        return _Tile(128 if width <= 128 else 64, 128 if width <= 64 else 64, width)
    if d["backend"] == "efficient":
        padded = 32 * ceil(width / 32)
        if forward:
            return _Tile(64 if width <= 128 else 32, 64 if width <= 64 else 128, padded)
        if not 64 < width <= 128:
            return _Tile(64, 64, padded)
        return _Tile(64 if work.dtype == "tf32" else 128, 128, padded)
    return _Tile(128, 128 if forward else 64, _next(width, _CUDNN_WIDTHS))


def _next(width: int, classes: tuple[int, ...]) -> int:
    return next((c for c in classes if width <= c), width)


class _Layout(NamedTuple):
    """Blocks of one head, their tiles, the tiles of the longest block, and an upper bound on the
    number of tiles of each block that a causal mask cuts."""

    blocks: int
    tiles: int
    longest: int
    edges: int


def _head_layout(d: dict[str, Any], attended: Band, tile: _Tile, splits: int = 1) -> _Layout:
    rows, columns = d["sq"], d["sk"]
    if d["direction"] != "fwd":  # from keys to queries
        rows, columns, attended = (
            columns,
            rows,
            Band(attended.right, attended.left, -attended.shift),
        )
    high, wide = tile.rows, tile.columns
    return _Layout(*_layout_counts(rows, columns, high, wide, *attended, splits, d["causal"]))


@at_each
def _layout_counts(
    rows: int,
    columns: int,
    high: int,
    wide: int,
    left: int,
    right: int,
    shift: int,
    splits: int,
    causal: bool,
) -> tuple[int, int, int, int]:
    tiles = visited_tiles(rows, columns, high, wide, Band(left, right, shift))
    if splits > 1:
        tiles = np.repeat(np.ceil(tiles / splits).astype(int), splits)
    edges = int(np.minimum(tiles, ceil(high / wide)).sum()) if causal else 0
    return len(tiles), int(tiles.sum()), int(tiles.max(initial=1)), edges


def visited_tiles(
    rows: int, columns: int, high: int, wide: int, attended: Band
) -> NDArray[np.int64]:
    """For each block of rows, the number of tiles of `high` × `wide` that contain a pair of the
    band."""
    first = np.arange(0, rows, high)
    last = np.minimum(first + high, rows) - 1
    low, top = np.zeros_like(first), np.full_like(first, columns - 1)
    if attended.left >= 0:
        low = np.maximum(low, first + attended.shift - attended.left)
    if attended.right >= 0:
        top = np.minimum(top, last + attended.shift + attended.right)
    return np.where(top >= low, top // wide - low // wide + 1, 0)


def _with_blocks(work: Work, tile: _Tile, heads: int, layout: _Layout, variant: str | None) -> Work:
    dims: dict[str, Any] = {
        **work.dims,
        "tile": (tile.rows, tile.columns),
        "width": tile.width,
        "blocks": heads * layout.blocks,
        "tiles": heads * layout.tiles,
        "longest": layout.longest,
        "edges": heads * layout.edges,
    }
    return replace(work, dims=dims | ({"variant": variant} if variant else {}))


def _flash(op: Signature, work: Work, units: int) -> tuple[Work, ...]:
    """The kernels of flash attention. A single query of grouped heads becomes several queries of
    one head; if there are fewer blocks than SMs, the keys are split (flash_api.cpp, mha_fwd and
    set_params_splitkv)."""
    d, attended = dict(work.dims), band(op)
    heads = d["h"]
    if d["sq"] == 1 and attended.left < 0:  # the query attends to all keys
        attended = Band(-1, -1, 0)
    if (
        d["sq"] == 1
        and d["hk"] < heads
        and attended.right < 0
        and not d["dropout"]
        and d["d"] % 8 == 0
    ):
        d["sq"], heads = heads // d["hk"], d["hk"]
    columns = 256 if d["d"] <= 64 else 128 if d["d"] <= 128 else 64
    blocks = d["b"] * heads * ceil(d["sq"] / 64)
    splits = 1 if d["dropout"] else flash_splits(blocks, 2 * units, ceil(d["sk"] / columns))
    if splits == 1:
        tile = _tile(work)
        return (_with_blocks(work, tile, d["b"] * heads, _head_layout(d, attended, tile), None),)
    tile = _Tile(64, columns, _next(d["d"], _FLASH_WIDTHS))
    layout = _head_layout(d, attended, tile, splits)
    return _split(op, work, _with_blocks(work, tile, d["b"] * heads, layout, "flash_split"), splits)


@at_each
def flash_splits(blocks: int, slots: int, key_blocks: int) -> int:
    """The fewest splits whose occupancy is at least 85% of the best one
    (flash_api.cpp, num_splits_heuristic)."""
    if blocks >= 0.8 * slots:
        return 1
    fullness: dict[int, float] = {}
    for splits in range(1, min(_MOST_SPLITS, slots, key_blocks) + 1):
        if splits > 1 and ceil(key_blocks / splits) == ceil(key_blocks / (splits - 1)):
            continue  # each split has as many key blocks as with one split fewer
        waves = blocks * splits / slots
        fullness[splits] = waves / ceil(waves)
    most = max(fullness.values(), default=1.0)
    return next((s for s, full in fullness.items() if full >= 0.85 * most), 1)


def _flex(work: Work) -> Work:
    """The generated kernel of `flex_attention`, which computes a known share of the mask's tiles.
    The longest block visits up to twice the mean, as under a causal mask."""
    d, tile = work.dims, _tile(work)
    every = _head_layout(d, Band(-1, -1, 0), tile)
    layout = _Layout(*_share_of(*every, ceil(tile.rows / tile.columns), d["fraction"]))
    return _with_blocks(work, tile, d["b"] * d["h"], layout, _variant(work))


@at_each
def _share_of(
    blocks: int, tiles: int, longest: int, _: int, cut: int, share: float
) -> tuple[int, int, int, int]:
    longest = ceil(longest * min(1.0, 2 * share))
    return blocks, ceil(tiles * share), longest, blocks * min(cut, longest) if share < 1 else 0


def _cudnn_for_one(op: Signature, work: Work, units: int) -> tuple[Work, ...]:
    """For one query, cuDNN uses Ampere's kernels, and splits 1,024 and more keys if the heads
    leave more than half of the SMs idle (observed on an H200, cuDNN 9.19)."""
    d = work.dims
    width = _next(max(d["d"], d["dv"]), _CUDNN_WIDTHS)
    tile = _Tile(64, 64, width) if d["sk"] <= 256 else _Tile(16, 128, width)
    splits = units // (d["b"] * d["hk"]) if d["sk"] >= 1024 and not d["mask"] else 1
    layout = _head_layout(d, band(op), tile, max(splits, 1))
    kernel = _with_blocks(work, tile, d["b"] * d["h"], layout, "cudnn_one")
    return _split(op, work, kernel, splits) if splits > 1 else (kernel,)


def _split(op: Signature, work: Work, main: Work, splits: int) -> tuple[Work, Work]:
    """Each split writes its outputs and their log-sum-exp in float32; a second kernel combines
    them."""
    d = main.dims
    rows = d["b"] * d["h"] * d["sq"]
    parts = 4 * splits * rows * (d["dv"] + 1)
    combine = Work(
        "reduction",
        flops=2 * splits * rows * d["dv"],
        read_bytes=parts,
        write_bytes=work.write_bytes,
        instructions=4 * splits * rows * d["dv"],
        dims={
            "variant": "splits",
            "rows": rows,
            "cols": splits,
            "inner": d["dv"],
            "backend": d["backend"],
        },
    )
    return replace(main, write_bytes=parts, dims={**d, "splits": splits}), combine
