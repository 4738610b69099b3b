"""Our own CUDA C++ kernels, compiled at run time, which measure the ceilings of the hardware.

Importing the package registers their operations (kind "cuda"). `TRAFFIC[name]` counts the work of a
call of an operation, from the number of SMs and the point's params; `CHECKS` compare every kernel
with torch on a device and raise AssertionError. May import sweeps and torch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from calibration.cuda import (
    arithmetic,
    launch,
    memory,
    special_functions,
    warp_matrices,
    warpgroup_matrices,
)
from calibration.cuda.traffic import Traffic

TRAFFIC: dict[str, Callable[..., Traffic]] = {
    "cuda_empty": launch.empty_traffic,
    "cuda_kernel_chain": launch.chain_traffic,
    "cuda_copy": memory.copy_traffic,
    "cuda_triad": memory.triad_traffic,
    "cuda_read": memory.read_traffic,
    "cuda_fma_chains": arithmetic.fma_traffic,
    "cuda_intensity": arithmetic.intensity_traffic,
    "cuda_special_function": special_functions.function_traffic,
    "cuda_warp_mma": warp_matrices.mma_traffic,
    "cuda_warpgroup_mma": warpgroup_matrices.wgmma_traffic,
}
CHECKS: tuple[Callable[[torch.device | str], None], ...] = (
    launch.check,
    memory.check,
    arithmetic.check,
    special_functions.check,
    warp_matrices.check,
    warpgroup_matrices.check,
)
