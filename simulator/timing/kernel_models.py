"""The roofline of a kind of kernel, for whole columns of works.

    t = max(compute, memory) + fixed

On tensor cores, compute is tiles in waves over the units (NVIDIA's "wave quantisation", modelled as
in NeuSight, Lee et al. 2025); otherwise it is issue slots. Memory is bytes over the bandwidth of
the level that serves them.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.timing.l2_eviction import l2_reread_s
from simulator.timing.profile import Profile, Tiles, Traffic
from simulator.timing.rates import (
    dram_bytes_per_s,
    dram_reach,
    l2_bytes_per_s,
    loading_clocks_per_s,
    peak_flops_per_s,
    roof_flops_per_s,
    units_of,
)
from simulator.timing.transfer import (
    dram_share,
    in_clocks,
    issue,
    issuing,
    l2_share,
    loaded_beside,
    measured_on,
    tiles_of,
    tiles_of_batches,
    traffic_of,
    transfer_slowdown,
)
from simulator.timing.work_columns import AttentionBlocks, Group
from simulator.varying import stacked

Floats = NDArray[np.float64]

_SPLITS = (1.0, 2.0, 4.0, 8.0, 16.0)
_CELLS = 1 << 14  # number of tiles of works that are tried together, so that they fit in a cache

_EVICTING = 0.42
_WRITTEN = 0.7
"""A kernel writes back lines of earlier kernels if writes were at least half of their traffic:
`_EVICTING` bytes for each byte that it reads from DRAM, up to the share `_WRITTEN` of L2. Both are
measured by `calibration.record.written_back` (0.39 and 0.60 on a second H200). On an H200 a linear
layer of one row reads 34 MB in 10.4 µs after kernels that only read and in 13.6 µs after others,
and 117 MB in 29 and 39 µs. A sum of 134 MB takes 35 and 43 µs, a copy of 33 MB 15 and 18 µs."""

_IDLE_BLOCK_CLOCKS = 1.1
"""Clocks that a GPU takes to start and end a block without work. On an H200 51 of DenseNet-121's
concatenations take 0.45 µs for each MB of their result and 0.55 µs for each 1,000 idle blocks, and
those of Mamba-2 and Inception-v3 agree within 2 to 15%."""
_GRID_BLOCKS = 32
"""Assumed maximum number of blocks per multiprocessor in a grid with idle blocks."""

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


class RooflineTerms(NamedTuple):
    """Seconds of each work [works]. `cold_s` and `hot_s` are the memory times from DRAM and from
    L2. `latency_s` is added to `fixed_s` if anything comes from DRAM, and `written_back_s` to
    `cold_s` if L2 is full of lines that other kernels wrote."""

    compute_s: Floats
    cold_s: Floats
    hot_s: Floats
    fixed_s: Floats
    latency_s: Floats
    written_back_s: Floats


def duration_s(compute_s: Floats, memory_s: Floats, fixed_s: Floats) -> Floats:
    """The roofline: compute and memory time overlap; the fixed time does not."""
    return np.maximum(compute_s, memory_s) + fixed_s


def roofline_terms(group: Group, curve: str, gpu: GPU, profile: Profile) -> RooflineTerms:
    """The roofline terms of works of a curve."""
    tiles = tiles_of(curve, gpu, profile)
    if tiles is not None and group.blocks is not None:
        return _attention(group, group.blocks, gpu, profile, tiles)
    computes = group.flops > 0
    if tiles is not None and computes.all():
        return _tiled(group, gpu, profile, tiles, tiles_of_batches(curve, gpu))
    traffic = traffic_of(curve, profile)
    terms = _streamed(group, gpu, profile, traffic)
    terms = terms._replace(cold_s=terms.cold_s + l2_reread_s(group, curve, gpu, profile, traffic))
    if tiles is None or not computes.any():
        return terms
    with np.errstate(divide="ignore", invalid="ignore"):  # a product of empty matrices has no tiles
        tiled = _tiled(group, gpu, profile, tiles, tiles_of_batches(curve, gpu))
    return RooflineTerms(
        *(np.where(computes, one, other) for one, other in zip(tiled, terms, strict=True))
    )


def _written_back_s(group: Group, gpu: GPU, profile: Profile) -> Floats:
    """Seconds of writing back lines that earlier kernels left in L2."""
    limit_bytes = _WRITTEN * (gpu.l2_bytes or 0) * group.read_bytes / np.maximum(group.bytes, 1)
    most = gpu.bandwidth_bytes_per_s * dram_reach(gpu, profile)
    return np.minimum(_EVICTING * group.read_bytes, limit_bytes) / most


def _streamed(group: Group, gpu: GPU, profile: Profile, traffic: Traffic) -> RooflineTerms:
    """The roofline terms of vector work: FLOPs at peak, or one instruction per lane and clock (half
    the FLOP peak)."""
    beside = issue(gpu, profile)
    peaks = _peaks(group, gpu, "vector")
    slots = group.instructions / (peaks / 2 * beside)
    on_tensor = _on_tensor(group)
    products = group.flops / _peaks(group, gpu) * _slowdown(group, gpu, profile, traffic.issue)
    compute = np.maximum(slots, np.where(on_tensor, products, 0.0)) / traffic.issue
    if beside > 1:  # the separate integer lanes run no FLOPs
        compute = np.maximum(compute, np.where(on_tensor, 0.0, group.flops / peaks))
    compute = compute * _last_wave(group.programs, gpu)
    fixed = traffic.fixed_s + traffic.step_s * group.steps
    fixed = fixed + (profile.kernel_s if gpu.id == profile.card else 0.0) + _idle_s(group, gpu)
    with np.errstate(divide="ignore", invalid="ignore"):
        limited = (group.rows > 0) & (traffic.row > 0)
        alone = np.where(limited, group.bytes / (group.rows * traffic.row), 0.0)
    if gpu.boost_hz:
        each = traffic.run_clocks * issuing(gpu, profile)
        alone = np.maximum(alone, group.runs * each / loading_clocks_per_s(gpu))
    # the parts of a row are processed one by one
    alone = np.maximum(alone, (group.trips - 1) * group.steps * traffic.step_s)
    from_l2 = l2_bytes_per_s(gpu, profile) * l2_share(traffic.l2, gpu, profile)
    hot = group.bytes * (1 + group.again) / from_l2
    cold = group.bytes / dram_bytes_per_s(gpu, profile, traffic.stream)
    cold = np.where(group.again > 0, np.maximum(cold, hot), cold)
    latency = traffic.cold_s + traffic.cold_step_s * group.steps
    return RooflineTerms(
        compute_s=compute,
        cold_s=np.maximum(cold, alone),
        hot_s=np.maximum(np.minimum(hot, cold), alone),
        fixed_s=fixed,
        latency_s=latency,
        written_back_s=_written_back_s(group, gpu, profile),
    )


def _idle_s(group: Group, gpu: GPU) -> Floats:
    """Seconds of blocks without work, which exist because each operand gets as many blocks as the
    largest one."""
    most = _GRID_BLOCKS * units_of(gpu)
    each = np.minimum(group.widest_blocks, most)
    idle = each * group.others - np.minimum(group.other_blocks, most * group.others)
    return np.maximum(idle, 0) * _IDLE_BLOCK_CLOCKS / (gpu.boost_hz or np.inf)


def _last_wave(programs: Floats, gpu: GPU) -> Floats:
    """The time of the unit with the most programs, relative to the mean of all units."""
    units = units_of(gpu)
    most = np.ceil(programs / units) * units
    return np.where(programs > 0, most / np.maximum(programs, 1), 1.0)


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
    rate = _peaks(group, gpu) * tiles.utilisation / units
    rate = rate / _slowdown(group, gpu, profile, tiles.utilisation)
    slower = np.where(group.align_bytes < 16, tiles.unaligned, 1.0)
    number = group.item_bytes / _fed_bytes_per_s(gpu, tiles) * slower
    beside = _on_tensor(group)
    turns = loaded_beside(gpu, profile)
    best = np.empty(len(group.flops))
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
        best[rows] = np.min(
            [
                np.where(
                    group.whole[rows] & (split > 1),
                    np.inf,
                    np.min(
                        np.ceil(waves * split)
                        * (np.maximum(depth / split, 1) * step + tiles.wave_s),
                        axis=0,
                    )
                    + (tiles.split_s if split > 1 else 0.0),
                )
                for split in (_SPLITS[:1] if group.whole[rows].all() else _SPLITS)
            ],
            axis=0,
        )
    return _beside_memory(best, group, gpu, profile, tiles)


def _slowdown(group: Group, gpu: GPU, profile: Profile, share: Floats | float) -> Floats:
    """Slowdown on this GPU of works that reach `share` of the peak on the measured GPU [works]."""
    measured = measured_on(profile.gpu)
    measured_peaks = _peaks(group, measured or gpu)
    return transfer_slowdown(
        share, _on_tensor(group), _peaks(group, gpu), measured_peaks, gpu, measured
    )


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
    products = blocks.tile_flops / (_peaks(group, gpu) * tiles.utilisation / units)
    slower = _slowdown(group, gpu, profile, tiles.utilisation)
    measured = measured_on(profile.gpu)
    measured_peaks = _peaks(group, measured or gpu)
    exponentials = (
        tiles.narrow / blocks.width * in_clocks(_peaks(group, gpu), measured_peaks, gpu, measured)
    )
    one = products * (slower + exponentials) * np.where(blocks.is_masked > 0, tiles.masked, 1.0)
    one = one + blocks.random_slots / (
        _peaks(group, gpu, "vector") / 2 * issue(gpu, profile) / units
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
    return RooflineTerms(compute, cold, hot, fixed, latency, _written_back_s(group, gpu, profile))


def _peaks(group: Group, gpu: GPU, engine: str | None = None) -> Floats:
    """FLOP/s of each work's engine, or of `engine` in double or single precision."""
    if engine is None:
        roofs = [roof_flops_per_s(gpu, w) for w in group.works]
    else:
        doubles = peak_flops_per_s(gpu, engine, "float64")
        singles = peak_flops_per_s(gpu, engine, "float32")
        roofs = [doubles if w.dtype == "float64" else singles for w in group.works]
    return stacked(roofs, group.counts)


def _on_tensor(group: Group) -> NDArray[np.bool_]:
    return stacked([w.engine == "tensor" for w in group.works], group.counts) > 0
