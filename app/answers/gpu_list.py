"""The figures of every GPU that lists show, without the rest of their files."""

from __future__ import annotations

import msgspec

from simulator.hardware.gpu import GPU, gpus


class ListedGpu(msgspec.Struct, frozen=True):
    """A GPU in a list. `peak_flops_per_s` belongs to 16-bit matrix products, or to the fastest
    engine if that is unknown."""

    id: str
    name: str
    architecture: str
    peak_flops_per_s: float
    bandwidth_bytes_per_s: float


def listed_gpus() -> tuple[ListedGpu, ...]:
    """Every GPU, in the order of `gpus`. Reads all files. Raises InputError as `gpus` does."""
    return tuple(
        ListedGpu(g.id, g.name, g.architecture or "", _peak(g), g.bandwidth_bytes_per_s)
        for g in gpus()
    )


def _peak(gpu: GPU) -> float:
    return max(gpu.peak("tensor", "bf16") or 0.0, gpu.peak("tensor", "fp16") or 0.0) or max(
        *gpu.tensor_flops_per_s.values(), *gpu.vector_flops_per_s.values(), 0.0
    )
