"""The highest rates of a GPU's parts: its engines, DRAM and L2."""

from __future__ import annotations

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.timing.profile import Profile

UNITS_SEEN = 132
"""Streaming multiprocessors of an H200, on which the choices of libraries were observed; used if a
GPU's own number is not known."""
_TYPICAL_UNITS = 100  # the figure of a data-centre GPU, used if the data sheet omits it
_PRODUCTS = ("gemm", "conv", "attention")
_SHORT = {
    "float64": "fp64", "float32": "fp32", "tf32": "tf32", "float16": "fp16", "bfloat16": "bf16",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "int8": "int8",
    "float4_e2m1fn_x2": "fp4",
}  # fmt: skip


def dram_reach(gpu: GPU, profile: Profile) -> float:
    """Share of the data sheet's bandwidth that the best kernel reaches."""
    return gpu.sustained_memory or profile.dram_reach


def l2_kept_bytes(gpu: GPU, profile: Profile) -> float:
    """Bytes of L2 that still hold data just used."""
    return (gpu.l2_bytes or 0) * (gpu.l2_reach or profile.l2_reach)


def dram_bytes_per_s(gpu: GPU, profile: Profile, stream: float) -> float:
    """Bytes per second of DRAM: its own rate, or the one that the bytes in flight allow, whichever
    is lower (Little's law)."""
    most = gpu.bandwidth_bytes_per_s * dram_reach(gpu, profile)
    if gpu.units and gpu.boost_hz and _has_multiprocessors(gpu):
        return min(most, loading_clocks_per_s(gpu) * stream)
    return most


def loading_clocks_per_s(gpu: GPU) -> float:
    """Clocks per second of all multiprocessors; each loads 128 bytes per clock. A compute unit of
    AMD's CDNA loads 64 bytes: te42kyfo/gpu-benches (gpu-cache) measures 60 on an MI210."""
    whole = 0.5 if gpu.vendor == "AMD" else 1.0
    return units_of(gpu) * (gpu.boost_hz or 1.0) * whole


def _has_multiprocessors(gpu: GPU) -> bool:
    """Whether the `units` of a GPU are streaming multiprocessors, or similar compute units or
    cores."""
    return gpu.vendor in (None, "NVIDIA", "AMD", "Apple")


def units_of(gpu: GPU) -> int:
    """The number of multiprocessors of a GPU, or that of a typical card if it is unknown."""
    return gpu.units if gpu.units and _has_multiprocessors(gpu) else _TYPICAL_UNITS


def l2_bytes_per_s(gpu: GPU, profile: Profile) -> float:
    """Bytes per second of L2: the data sheet's figure, else that of the measured bytes per clock
    and unit."""
    if gpu.l2_bandwidth_bytes_per_s:
        return gpu.l2_bandwidth_bytes_per_s
    if gpu.units and gpu.boost_hz and _has_multiprocessors(gpu):
        return loading_clocks_per_s(gpu) * profile.l2_bytes_per_clock_per_unit
    return gpu.bandwidth_bytes_per_s


def roof_flops_per_s(gpu: GPU, work: Work) -> float:
    """Peak of the engine that a work runs on. For products, the matrix cores of AMD (CDNA and
    later) and of TPUs multiply float32 without rounding, and any narrower dtype; NVIDIA's tensor
    cores would round float32."""
    peak = peak_flops_per_s(gpu, work.engine, work.dtype)
    if work.family in _PRODUCTS and work.dtype != "float64":
        return max(peak, gpu.peak("tensor", "fp32") or 0.0)
    return peak


def peak_flops_per_s(gpu: GPU, engine: str, dtype: str) -> float:
    """Peak of the engine that PyTorch would use: without tensor cores for a dtype (bfloat16 and
    TF32 before Ampere, float16 before Volta) the vector units compute it in fp32. Without fp4 it is
    the peak of fp8, whose kernels stand in for those of fp4."""
    short = _SHORT.get(dtype, "fp32")
    if engine == "tensor":
        peak = gpu.peak("tensor", short) or (gpu.peak("tensor", "fp8") if short == "fp4" else None)
        if peak:
            return peak
    halves = engine == "tensor" and short in ("fp16", "bf16")
    for candidate in ("fp32", short, "fp16", "bf16") if halves else (short, "fp32", "fp16", "bf16"):
        peak = gpu.peak("vector", candidate) or gpu.peak("tensor", candidate)
        if peak:
            return peak
    raise AssertionError("a GPU has at least one peak")
