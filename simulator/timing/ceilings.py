"""The ceilings of a GPU's roofline: peaks of its engines and rates of its memories, as stated in
the data sheet and as measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.hardware.gpu import DTYPES, GPU, Engine
from simulator.timing.profile import Profile
from simulator.timing.rates import dram_bytes_per_s, l2_bytes_per_s

_CURVES = {
    ("tensor", "bf16"): "gemm_tensor_half",
    ("tensor", "fp16"): "gemm_tensor_half",
    ("tensor", "tf32"): "gemm_tensor_tf32",
    ("tensor", "fp8"): "gemm_tensor_float8",
    ("tensor", "int8"): "gemm_tensor_int8",
    ("vector", "fp32"): "gemm_vector",
}
"""The curves of measured matrix products, by engine and dtype."""


@dataclass(frozen=True)
class Peak:
    """FLOP/s of an engine at a dtype. `measured_flops_per_s` is the rate of large products on this
    GPU; None if not measured."""

    engine: Engine
    dtype: str
    flops_per_s: float
    measured_flops_per_s: float | None


@dataclass(frozen=True)
class Rate:
    """Bytes per second of a level of memory, "DRAM" or "L2". `bytes_per_s` is the figure of the
    data sheet, or None if the data sheet omits it."""

    level: Literal["DRAM", "L2"]
    bytes_per_s: float | None
    measured_bytes_per_s: float | None

    @property
    def known_bytes_per_s(self) -> float:
        """The data sheet's rate, else the measured one."""
        return self.bytes_per_s or self.measured_bytes_per_s or 0.0


def peaks(gpu: GPU, profile: Profile) -> tuple[Peak, ...]:
    """The ceiling of every engine at each of its dtypes, fastest first."""
    own = gpu.id == profile.gpu
    ceilings: list[Peak] = []
    for engine in ("tensor", "vector"):
        for dtype in DTYPES:
            peak = gpu.peak(engine, dtype)
            if peak:
                tiles = profile.tiles.get(_CURVES.get((engine, dtype), ""))
                reached = peak * tiles.utilisation if own and tiles else None
                ceilings.append(Peak(engine, dtype, peak, reached))
    return tuple(sorted(ceilings, key=lambda p: (-p.flops_per_s, p.engine, p.dtype)))


def rates(gpu: GPU, profile: Profile) -> tuple[Rate, ...]:
    """The ceilings of DRAM and L2. Measurements of another GPU are left out, except for L2's bytes
    per clock if the data sheet omits them."""
    own = gpu.id == profile.gpu
    most = dram_bytes_per_s(gpu, profile, float("inf")) if own else None
    ceilings = [Rate("DRAM", gpu.bandwidth_bytes_per_s, most)]
    if gpu.l2_bandwidth_bytes_per_s:
        ceilings.append(Rate("L2", gpu.l2_bandwidth_bytes_per_s, None))
    elif l2_bytes_per_s(gpu, profile) > gpu.bandwidth_bytes_per_s:
        ceilings.append(Rate("L2", None, l2_bytes_per_s(gpu, profile)))
    return tuple(ceilings)
