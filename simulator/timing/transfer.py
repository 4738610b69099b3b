"""Transfer the measured shares of a GPU's peaks to another GPU.

A share is not the same on both GPUs. The work that keeps a kernel below a peak (addresses, loads
into registers, exponentials) takes clocks of a streaming multiprocessor. It takes the same number
of clocks on a card whose tensor cores are an eighth as fast. The bytes in flight per multiprocessor
do not depend on the memory either. So the measured time is split into the time of the engine or the
memory alone, and the rest, which scales with units × clock. The two overlap in part: the p-th
power of the time is the sum of their p-th powers, where p is `_OVERLAP` or `_IN_FLIGHT`.

Both exponents are rounded from public measurements: attention and products on an A100 and an L40S
(NVIDIA AIConfigurator, Apache-2.0), whole networks on an RTX 3090 and an RTX 4090
(huggingface/pytorch-image-models, Apache-2.0). For each of A100, H100, B200, L40S, RTX 3090, RTX
4090, T4 and V100, the exponents and `_BESIDE` were also chosen without its measurements. A GPU's
median error then changes by 1.6 points for an L40S, and by at most 0.6 points for the others.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU, gpu_of_id
from simulator.timing.profile import Profile, Tiles, Traffic
from simulator.timing.rates import dram_reach, l2_bytes_per_s, units_of

Floats = NDArray[np.float64]

_OVERLAP = 1.5
_IN_FLIGHT = 2.0
_BESIDE = 1.4
"""Number of instructions that a unit with half as many FP32 lanes issues per FP32 instruction. It
is between 1 and 2, as measured for EfficientNet on an A100 and a V100 (NVIDIA
DeepLearningExamples), softmax and LayerNorm on an A100, a V100 and a T4 (sitar-lab/NeuSight,
MIT)."""
_CDNA_LANES = 64
_VOLTA = (7, 0)
_HOPPER = (9, 0)
_BULK = ("gemm_tensor_half", "gemm_tensor_float8")
_COPYING = "gemm_tensor_half_4"
_LEAST_SIDE = 64
"""The smallest side of a tile in cuBLAS's kernels for Volta to Ada, by their names
(`s16816gemm_bf16_64x64`). On an A100 and an L40S, one row takes as long as 64 rows
(AIConfigurator)."""


_OF_BATCHES = {(7, 5): ((64, 64), (64, 128), (32, 128)), (8, 0): ((128, 128),)}
"""Tiles that cuBLAS uses for batches of products in single precision, by compute capability. By the
names of the kernels, 4,404 of 4,468 and 4,122 of 4,146 products of sizes from 2 to 1,000 use them
(sitar-lab/NeuSight, MIT; CUDA 12.1)."""


@lru_cache
def measured_on(gpu_id: str) -> GPU | None:
    """The GPU that a profile was measured on; None if its file is missing."""
    return gpu_of_id(gpu_id)


def transfer_slowdown(
    share: Floats | float,
    on_tensor: NDArray[np.bool_],
    peak: Floats,
    measured_peak: Floats,
    gpu: GPU,
    measured: GPU | None,
) -> Floats:
    """Slowdown on `gpu` [works], relative to the same share of the peak, of kernels that reach
    `share` of the peak on the measured GPU. `peak` is the peak on `gpu`, `measured_peak` the one on
    the measured GPU."""
    if measured is None or not transfers(gpu, measured):
        return np.ones_like(peak)
    measured_sustained = np.where(
        on_tensor, measured.sustained_tensor or 1.0, measured.sustained_vector or 1.0
    )
    sustained = np.where(
        on_tensor,
        gpu.sustained_tensor or measured_sustained,
        gpu.sustained_vector or measured_sustained,
    )
    # share of the peak on the measured GPU if only the engine took time
    engine = np.maximum(share, measured_sustained)
    rest = np.maximum((1 / share) ** _OVERLAP - (1 / engine) ** _OVERLAP, 0) ** (1 / _OVERLAP)
    # An engine with more FLOPs per clock has its own kernels, which keep it equally busy.
    slower = np.minimum(_clocks(measured) / _clocks(gpu), measured_peak / peak)
    ideal = measured_sustained / (engine * sustained * peak)
    both = (ideal**_OVERLAP + (rest / measured_peak * slower) ** _OVERLAP) ** (1 / _OVERLAP)
    return both * peak * share


def in_clocks(peak: Floats, measured_peak: Floats, gpu: GPU, measured: GPU | None) -> Floats:
    """Slowdown of work that takes the same number of clocks of a unit on both GPUs, such as special
    functions, relative to that of products at the peaks `peak` and `measured_peak` [works]."""
    if measured is None or not transfers(gpu, measured):
        return np.ones_like(peak)
    return _clocks(measured) / _clocks(gpu) * peak / measured_peak


def issue(gpu: GPU, profile: Profile) -> float:
    """Instructions per clock and FP32 lane of a kernel that issues one on the measured GPU. Volta,
    Turing and the A100 have half of Hopper's FP32 lanes and as many separate integer lanes, so that
    other instructions overlap (NVIDIA's Volta whitepaper). A compute unit of AMD's CDNA issues to
    64 lanes; a higher peak counts packed pairs (AMD's CDNA3 whitepaper)."""
    measured, sustained = measured_on(profile.gpu), gpu.sustained_vector or 1.0
    if gpu.vendor == "AMD":
        counted = gpu.vector_flops_per_clock_per_unit.get("fp32", 0.0)
        return sustained * min(1.0, 2 * _CDNA_LANES / (counted or 2 * _CDNA_LANES))
    if measured is None or not transfers(gpu, measured) or gpu.vendor != "NVIDIA":
        return sustained
    return sustained * _beside(gpu, measured)


def issuing(gpu: GPU, profile: Profile) -> float:
    """Clocks of a multiprocessor for the instructions of a row's block, relative to the measured
    GPU. Some of the instructions wait for FP32 lanes."""
    measured = measured_on(profile.gpu)
    if measured is None or not transfers(gpu, measured) or gpu.vendor != "NVIDIA":
        return 1.0
    return max(1.0, 1 / (_lanes(gpu, measured) * _beside(gpu, measured)))


def loaded_beside(gpu: GPU, profile: Profile) -> float:
    """The factor by which loads delay multiply-adds more than on the measured GPU: with half as
    many lanes, the instructions of loads take up the lanes for twice as large a share of the
    time."""
    measured = measured_on(profile.gpu)
    if measured is None or not transfers(gpu, measured) or gpu.vendor != "NVIDIA":
        return 1.0
    return min(1.0, _lanes(gpu, measured))


def _beside(gpu: GPU, measured: GPU) -> float:
    """Instructions that a multiprocessor issues per instruction on its FP32 lanes."""
    if (gpu.compute_capability or (0, 0)) < _VOLTA:
        return 1.0
    return max(1.0, min(_BESIDE, 1 / _lanes(gpu, measured)))


def _lanes(gpu: GPU, measured: GPU) -> float:
    """FP32 lanes of a multiprocessor, relative to the measured GPU."""
    lanes, measured_lanes = (
        (c.peak("vector", "fp32") or 1.0) / _clocks(c) for c in (gpu, measured)
    )
    return lanes / measured_lanes


def dram_share(share: float, gpu: GPU, profile: Profile) -> float:
    """Share of the bandwidth that loads reach on `gpu`; on the measured GPU it is `share`."""
    measured = measured_on(profile.gpu)
    if measured is None or not transfers(gpu, measured):
        return share
    wider = gpu.bandwidth_bytes_per_s / measured.bandwidth_bytes_per_s
    reached = _carried(share, gpu, measured, wider, profile.dram_reach)
    return reached * dram_reach(gpu, profile) / profile.dram_reach


def l2_share(share: float, gpu: GPU, profile: Profile) -> float:
    """Like `dram_share`, for the bandwidth of L2."""
    measured = measured_on(profile.gpu)
    if measured is None or not transfers(gpu, measured):
        return share
    wider = l2_bytes_per_s(gpu, profile) / l2_bytes_per_s(measured, profile)
    return _carried(share, gpu, measured, wider, 1.0)


def _carried(share: float, gpu: GPU, measured: GPU, wider: float, reach: float) -> float:
    """The share of the bandwidth that a kernel reaches on `gpu`, whose memory has `wider` times the
    bandwidth. The best kernels reach `reach`; others wait for bytes in flight, a fixed number per
    unit and clock (Little's law)."""
    most = max(share, reach)
    waiting = max(share**-_IN_FLIGHT - most**-_IN_FLIGHT, 0) ** (1 / _IN_FLIGHT)
    waiting *= min(wider * _clocks(measured) / _clocks(gpu), 1.0)
    return (most**-_IN_FLIGHT + waiting**_IN_FLIGHT) ** (-1 / _IN_FLIGHT)


def tiles_of(curve: str, gpu: GPU, profile: Profile) -> Tiles | None:
    """A curve's tiles, or those of its base curve if it was not measured."""
    # Hopper GPUs do not run these kernels
    kind = "gemm_vector" if curve == "conv_vector" else curve
    while kind not in profile.tiles and "_" in kind:
        kind = kind.rpartition("_")[0]
    tiles = profile.tiles.get(kind)
    if tiles is None or curve not in _BULK:
        return tiles
    return _without_bulk_loads(tiles, gpu, profile)


def tiles_of_batches(curve: str, gpu: GPU) -> tuple[tuple[int, int], ...]:
    """The tiles that the library chooses for batches of a curve's products; empty if it may choose
    any."""
    return _OF_BATCHES.get(gpu.compute_capability or (0, 0), ()) if curve == "gemm_vector" else ()


def traffic_of(curve: str, profile: Profile) -> Traffic:
    """The traffic of a curve; if the curve was not measured, the traffic of its base curve, or else
    that of elementwise kernels."""
    kind = curve
    while kind not in profile.traffic and "_" in kind:
        kind = kind.rpartition("_")[0]
    return profile.traffic.get(kind) or profile.traffic["pointwise"]


def _without_bulk_loads(tiles: Tiles, gpu: GPU, profile: Profile) -> Tiles:
    """A product's tiles on NVIDIA's cards before Hopper, which have no bulk loads: the tiles of
    Hopper's kernels for lines that bulk loads cannot fetch. The start and end of a wave, and of a
    part of a split, take a fixed number of clocks."""
    measured, copying = measured_on(profile.gpu), profile.tiles.get(_COPYING)
    if measured is None or copying is None or not transfers(gpu, measured):
        return tiles
    here, there = (card.compute_capability or _HOPPER for card in (gpu, measured))
    if here >= _HOPPER or there < _HOPPER:
        return tiles
    slower = (measured.boost_hz or 1.0) / (gpu.boost_hz or 1.0)
    shapes = tuple(shape for shape in copying.shapes if min(shape) >= _LEAST_SIDE)
    return replace(
        tiles,
        shapes=shapes or copying.shapes,
        feed=min(tiles.feed, copying.feed),
        wave_s=max(tiles.wave_s, copying.wave_s) * slower,
        split_s=tiles.split_s * slower,
        fixed_s=min(tiles.fixed_s, copying.fixed_s),
    )


def _clocks(gpu: GPU) -> float:
    """Clocks per second of all multiprocessors."""
    return units_of(gpu) * (gpu.boost_hz or 1.0)


def transfers(*cards: GPU) -> bool:
    """Whether these are two different cards whose multiprocessors and clocks are known."""
    known = all(card.boost_hz and units_of(card) == card.units for card in cards)
    return known and len({card.id for card in cards}) > 1
