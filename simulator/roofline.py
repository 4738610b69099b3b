"""The time of a kernel: roofline with utilisation, plus a fixed part.

    t = max(compute, memory) + fixed

Compute is tiles in waves over the units for what runs on tensor cores (NVIDIA's "wave
quantisation", modelled as in NeuSight, Lee et al. 2025), issue slots otherwise; memory is bytes
over the bandwidth of the level that serves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.profiles import Profile, Tiles, Traffic

Floats = NDArray[np.float64]

_ALL = 0.995  # shares of L2 are rounded to hundredths when they are fitted
_TYPICAL_UNITS = 100  # of a data-centre GPU, where a data sheet does not say
_SHORT = {
    "float64": "fp64", "float32": "fp32", "tf32": "tf32", "float16": "fp16", "bfloat16": "bf16",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "int8": "int8",
}  # fmt: skip


@dataclass(frozen=True)
class Roofs:
    """Seconds by distinct work. `cold_s` is its memory time from DRAM, `hot_s` from L2;
    `latency_s` comes on top of `fixed_s` where anything comes from DRAM."""

    compute_s: Floats
    cold_s: Floats
    hot_s: Floats
    fixed_s: Floats
    latency_s: Floats

    def parts(self, hot: Floats) -> tuple[Floats, Floats, Floats]:
        """Compute, memory and fixed seconds where this share of the bytes is in L2."""
        held = self.cold_s * (1 - hot) + self.hot_s * hot
        return self.compute_s, held, self.fixed_s + self.latency_s * (hot < _ALL)

    def of(self, rows: NDArray[np.int64]) -> Roofs:
        """The roofs of these works, in this order."""
        return Roofs(*(getattr(self, f.name)[rows] for f in fields(self)))


def roofs(works: Sequence[Work], gpu: GPU, profile: Profile) -> Roofs:
    """The roofline of each work on a GPU."""
    rows = np.array([_roof(work, gpu, profile) for work in works], float).reshape(-1, 5)
    return Roofs(*rows.T)


def _roof(work: Work, gpu: GPU, profile: Profile) -> tuple[float, ...]:
    name = curve(work)
    tiles = profile.tiles.get(name)
    if tiles is not None and work.flops:
        compute, fixed = _tiled_s(work, gpu, tiles), tiles.fixed_s
        dram = gpu.bandwidth_bytes_per_s * tiles.dram
        l2, row_s, latency = tiles.l2, 0.0, 0.0
    else:
        traffic = profile.traffic.get(name) or profile.traffic["pointwise"]
        compute = _issue_s(work, gpu, traffic)
        fixed = traffic.fixed_s + traffic.step_s * work.dims.get("steps", 0)
        dram = dram_bytes_per_s(gpu, profile, traffic.stream)
        l2, latency = traffic.l2, traffic.cold_s
        rows = work.dims.get("rows", 0)
        row_s = work.bytes / (rows * traffic.row) if rows and traffic.row else 0.0
        if gpu.units and gpu.boost_hz:
            clocks = work.dims.get("runs", 0) * traffic.run_clocks
            row_s = max(row_s, clocks / (gpu.units * gpu.boost_hz))
    cold = work.bytes / dram
    hot = work.bytes / (l2_bytes_per_s(gpu, profile) * l2)
    return compute, max(cold, row_s), max(min(hot, cold), row_s), fixed, latency


def curve(work: Work) -> str:
    """Which of a profile's curves rules a kernel: its family, and how it walks through memory."""
    family, d = work.family, work.dims
    if family == "gemm":
        return "gemm_tensor" if work.engine == "tensor" else "gemm_vector"
    if family == "attention":
        return f"attention_{d['backend']}_{d['direction']}"
    if family == "conv" and not d["depthwise"]:
        return f"conv_{d['direction']}"
    if family == "pointwise" and not d.get("contiguous", True):
        return "pointwise_strided"
    if family == "pointwise" and d.get("widens", False):
        return "pointwise_widening"
    if family == "copy" and d.get("transposed", False):
        return "copy_transposed"
    if family == "concat" and d["vectorized"]:
        return "concat_vectorized"
    if family == "reduction" and d.get("inner", 1) > 1:
        return "reduction_across"
    if family == "softmax" and d.get("cols", 0) <= 1024:
        return "softmax_warp"
    if family == "memcpy":
        return f"memcpy_{d['direction']}"
    return family


def dram_bytes_per_s(gpu: GPU, profile: Profile, stream: float) -> float:
    """What DRAM gives, or what the units keep in flight, whichever is less (Little's law)."""
    most = gpu.bandwidth_bytes_per_s * profile.dram_reach
    if gpu.units and gpu.boost_hz and _has_multiprocessors(gpu):
        return min(most, gpu.units * gpu.boost_hz * stream)
    return most


def _has_multiprocessors(gpu: GPU) -> bool:
    """Are its `units` streaming multiprocessors, or compute units that are like them?"""
    return gpu.vendor in (None, "NVIDIA", "AMD")


def l2_bytes_per_s(gpu: GPU, profile: Profile) -> float:
    """Measured where the data sheet knows it, else by bytes a clock and unit."""
    if gpu.l2_bandwidth_bytes_per_s:
        return gpu.l2_bandwidth_bytes_per_s
    if gpu.units and gpu.boost_hz and _has_multiprocessors(gpu):
        return gpu.units * gpu.boost_hz * profile.l2_bytes_per_clock_per_unit
    return gpu.bandwidth_bytes_per_s


def peak_flops_per_s(gpu: GPU, engine: str, dtype: str) -> float:
    """Peak of the engine that PyTorch would use: without tensor cores for a dtype (bfloat16
    before Ampere, TF32 before Ampere) the vector units compute it in fp32."""
    short = _SHORT.get(dtype, "fp32")
    if engine == "tensor":
        peak = gpu.peak("tensor", short)
        if peak:
            return peak
    for candidate in (short, "fp32", "fp16", "bf16"):
        peak = gpu.peak("vector", candidate) or gpu.peak("tensor", candidate)
        if peak:
            return peak
    raise AssertionError("a GPU has at least one peak")


def _issue_s(work: Work, gpu: GPU, traffic: Traffic) -> float:
    """Vector work: FLOPs at peak, or instructions at one a lane and clock (half the FLOP peak)."""
    dtype = "float64" if work.dtype == "float64" else "float32"
    lanes_per_s = peak_flops_per_s(gpu, "vector", dtype) / 2
    engine = peak_flops_per_s(gpu, work.engine, work.dtype)
    slots = work.instructions / lanes_per_s
    return max(work.flops / engine if work.engine == "tensor" else 0.0, slots) / traffic.issue


def _tiled_s(work: Work, gpu: GPU, tiles: Tiles) -> float:
    """The best tile and split: waves · (tile's time + start and end of a wave)."""
    batch, rows, columns, depth = _product(work)
    units = gpu.units if gpu.units and _has_multiprocessors(gpu) else _TYPICAL_UNITS
    rate = peak_flops_per_s(gpu, work.engine, work.dtype) * tiles.utilisation / units
    shapes = np.array(tiles.shapes, float)
    high, wide = shapes[:, :1], shapes[:, 1:]
    blocks = batch * np.ceil(rows / high) * np.ceil(columns / wide)
    split = np.array([[1.0, 2.0, 4.0, 8.0, 16.0]])
    if work.family == "attention" or work.dims.get("epilogue"):  # a bias is added once, in one part
        split = split[:, :1]
    waves = np.ceil(blocks * split / units)
    feed = 1 + tiles.feed * (1 / high + 1 / wide)
    feed = feed * tiles.unaligned ** np.log2(16 / work.dims.get("align_bytes", 16))
    one = 2 * high * wide * np.maximum(depth / split, 1) / rate * feed
    total = waves * (one + tiles.wave_s) + np.where(split > 1, tiles.split_s, 0.0)
    return float(total.min()) * work.dims.get("fraction", 1.0)


def _product(work: Work) -> tuple[float, float, float, float]:
    """Any tiled work as batch × (rows × depth) · (depth × columns)."""
    d = work.dims
    if work.family == "gemm":
        return d["b"], d["m"], d["n"], d["k"]
    if work.family == "attention":  # a block of 64 columns stands for a head's width
        heads = d["b"] * d["h"]
        return heads, d["sq"], 64, work.flops / (2 * 64 * heads * d["sq"])
    groups = d["groups"]
    taps = float(np.prod(d["kernel"]))
    out, into = float(np.prod(d["spatial_out"])), float(np.prod(d["spatial_in"]))
    cin, cout = d["cin"] / groups, d["cout"] / groups
    if d["direction"] == "fwd":
        return groups, d["n"] * out, cout, cin * taps
    if d["direction"] == "dgrad":
        return groups, d["n"] * into, cin, work.flops / (2 * groups * d["n"] * into * cin)
    return groups, cout, cin * taps, d["n"] * out
