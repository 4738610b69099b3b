"""The roofline of a kind of kernel, for whole columns of works.

    t = max(compute, memory) + fixed

On tensor cores, compute is tiles in waves over the units (NVIDIA's "wave quantisation", modelled as
in NeuSight, Lee et al. 2025); otherwise it is issue slots. Memory is bytes over the bandwidth of
the level that serves them.
"""

from __future__ import annotations

from itertools import groupby
from typing import cast

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.timing.profile import Profile, Tiles
from simulator.timing.rates import l2_bytes_per_s, units_of
from simulator.timing.streamed import streamed
from simulator.timing.terms import RooflineTerms, on_tensor, peaks, slowdown, written_back_s
from simulator.timing.transfer import (
    dram_share,
    in_clocks,
    issue,
    l2_share,
    loaded_beside,
    measured_on,
    tiles_of,
    tiles_of_batches,
)
from simulator.timing.work_columns import AttentionBlocks, Group

Floats = NDArray[np.float64]

_SPLITS = (1.0, 2.0, 4.0, 8.0, 16.0)
_CELLS = 1 << 14  # number of tiles of works that are tried together, so that they fit in a cache

_TRITON = ("fused", "generated")
_SMOOTH = 3.0
"""Exponent of the p-norm of compute and memory time in a Triton kernel: its programs load, compute
and store one after another, and other programs only partly use the time in which one program waits.
On an H200, 33.6 million bf16 numbers take 32 µs to load and store, and 47 µs with a logarithm of 27
issue slots each (32 µs alone). With 64 multiply-adds each, 16.8 million floats take 43 µs, where
the two times are 33 and 34 µs; a softmax takes 40 µs, where they are 33 and 34 µs."""


def smooth(curve: str) -> bool:
    """Whether kernels of a curve compute and move data partly one after the other. Curves of ATen
    and the libraries were fitted under the assumption that the two overlap fully."""
    return curve.startswith(_TRITON)


def overlap_slowdown(compute_s: Floats, held_s: Floats) -> Floats:
    """The time to compute and move data, relative to the longer of the two times."""
    bound_s = np.maximum(np.maximum(compute_s, held_s), 1e-30)
    return (1 + (np.minimum(compute_s, held_s) / bound_s) ** _SMOOTH) ** (1 / _SMOOTH)


def duration_s(compute_s: Floats, memory_s: Floats, fixed_s: Floats) -> Floats:
    """The roofline: compute and memory time overlap; the fixed time does not."""
    return np.maximum(compute_s, memory_s) + fixed_s


def roofline_terms(group: Group, gpu: GPU, profile: Profile) -> RooflineTerms:
    """The roofline terms of a group of works. Consecutive curves without tiles are evaluated
    together."""
    parts: list[RooflineTerms] = []
    for tiles, run in groupby(group.spans, lambda span: tiles_of(span.curve, gpu, profile)):
        if tiles is None:
            parts.append(streamed(group.part(list(run)), gpu, profile))
        else:
            parts += [_with_tiles(group.part([span]), gpu, profile, tiles) for span in run]
    return RooflineTerms(*map(np.concatenate, zip(*parts, strict=True)))


def _with_tiles(group: Group, gpu: GPU, profile: Profile, tiles: Tiles) -> RooflineTerms:
    """The roofline terms of works of a curve that has tiles; works without FLOPs only stream."""
    if group.blocks is not None:
        return _attention(group, group.blocks, gpu, profile, tiles)
    computes = group.flops > 0
    of_batches = tiles_of_batches(group.spans[0].curve, gpu)
    if computes.all():
        return _tiled(group, gpu, profile, tiles, of_batches)
    terms = streamed(group, gpu, profile)
    if not computes.any():
        return terms
    with np.errstate(divide="ignore", invalid="ignore"):  # a product of empty matrices has no tiles
        tiled = _tiled(group, gpu, profile, tiles, of_batches)
    return RooflineTerms(
        *(np.where(computes, one, other) for one, other in zip(tiled, terms, strict=True))
    )


def _tiled(
    group: Group, gpu: GPU, profile: Profile, tiles: Tiles, of_batches: tuple[tuple[int, int], ...]
) -> RooflineTerms:
    """The roofline terms with the best tile and split: waves · (tile's time + start and end of a
    wave). The h · w products of a tile need h + w numbers. Tensor cores compute while these are
    loaded, and the longer time counts; vector lanes alternate between loading and computing.
    Batches use only the tiles `of_batches`, if there are any."""
    units = units_of(gpu)
    high, wide = np.array(tiles.shapes, float).T[:, :, None]
    other = np.array([[bool(of_batches) and s not in of_batches] for s in tiles.shapes])
    each = 2 * high * wide
    rate = peaks(group, gpu) * tiles.utilisation / units
    rate = rate / slowdown(group, gpu, profile, tiles.utilisation)
    slower = np.where(group.align_bytes < 16, tiles.unaligned, 1.0)
    number = group.item_bytes / _fed_bytes_per_s(gpu, tiles) * slower
    beside = on_tensor(group)
    turns = loaded_beside(gpu, profile)
    best = np.full(len(group.flops), np.inf)
    chunk_size = max(1, _CELLS // high.size)
    for begin in range(0, best.size, chunk_size):
        rows = slice(begin, begin + chunk_size)
        batch, down, across, depth = (column[rows] for column in group.product)
        multiplied, fed = each / rate[rows], (high + wide) * number[rows]
        step = cast(
            "Floats",
            np.where(beside[rows], np.maximum(multiplied, fed), multiplied + fed * turns),
        )
        if other.any():
            step = cast("Floats", np.where(other & (batch > 1), np.inf, step))
        waves = batch * np.ceil(down / high) * np.ceil(across / wide) / units
        whole = group.whole[rows]
        seconds, each_s = np.empty_like(waves), np.empty_like(waves)
        for split in _SPLITS[:1] if whole.all() else _SPLITS:
            np.ceil(np.multiply(waves, split, out=seconds), out=seconds)
            np.multiply(np.maximum(depth / split, 1), step, out=each_s)
            each_s += tiles.wave_s
            seconds *= each_s
            least = np.min(seconds, axis=0) + (tiles.split_s if split > 1 else 0.0)
            least = np.where(whole & (split > 1), np.inf, least)
            best[rows] = np.minimum(best[rows], least)
    return _beside_memory(best, group, gpu, profile, tiles)


def _fed_bytes_per_s(gpu: GPU, tiles: Tiles) -> float:
    """Bytes per second that reach one streaming multiprocessor; infinite for other units."""
    if units_of(gpu) != gpu.units or not gpu.boost_hz:
        return np.inf
    return tiles.feed * gpu.boost_hz


def _attention(
    group: Group, blocks: AttentionBlocks, gpu: GPU, profile: Profile, tiles: Tiles
) -> RooflineTerms:
    """The roofline terms: the time of the tiles of all blocks, shared among the units, or of the
    tiles of the longest block in sequence, if that is longer.

    The number of exponentials of a tile does not depend on the width of the heads, so that narrow
    heads are slower: 1 + narrow / width times the products, on the measured GPU.
    """
    units = units_of(gpu)
    products = blocks.tile_flops / (peaks(group, gpu) * tiles.utilisation / units)
    slower = slowdown(group, gpu, profile, tiles.utilisation)
    measured = measured_on(profile.gpu)
    measured_peaks = peaks(group, measured or gpu)
    exponentials = (
        tiles.narrow / blocks.width * in_clocks(peaks(group, gpu), measured_peaks, gpu, measured)
    )
    one = products * (slower + exponentials) * np.where(blocks.is_masked > 0, tiles.masked, 1.0)
    one = one + blocks.random_slots / (
        peaks(group, gpu, "vector") / 2 * issue(gpu, profile) / units
    )
    each, more = np.ceil(blocks.count / units), blocks.edge_tiles * (tiles.edge - 1)
    serial = (blocks.longest + more / blocks.count) * tiles.alone
    shared = each * (blocks.tiles + more) / blocks.count
    compute = np.maximum(serial, shared) * one + each * tiles.wave_s
    return _beside_memory(compute, group, gpu, profile, tiles)


def _beside_memory(
    compute: Floats, group: Group, gpu: GPU, profile: Profile, tiles: Tiles
) -> RooflineTerms:
    cold = group.bytes / (gpu.bandwidth_bytes_per_s * dram_share(tiles.dram, gpu, profile))
    from_l2 = l2_bytes_per_s(gpu, profile) * l2_share(tiles.l2, gpu, profile)
    hot = np.minimum(group.bytes / from_l2, cold)
    fixed, latency = (np.full_like(cold, s) for s in (tiles.fixed_s, tiles.cold_s))
    return RooflineTerms(compute, cold, hot, fixed, latency, written_back_s(group, gpu, profile))
