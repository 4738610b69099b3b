"""The 80% interval of a step's period.

On the GPU that was measured the host was, too. Another GPU stands in a machine of its own, most
often as old as it is, so that what the host takes is less certain than the kernels: NVIDIA's
EfficientNets of few pictures (NVIDIA/DeepLearningExamples, Apache-2.0) take 1.8 to 2.3 times as
long as this host on a DGX A100 and 2.7 to 3.2 times on a DGX-1 with V100s, whatever the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host, host
from simulator.timing.profile import Profile
from simulator.timing.software import widened

_FASTER = 0.6
"""An allowance for a desktop's processor, beside that of a cloud's virtual machine."""
_SLOWER = (((9, 0), 1.5), ((8, 0), 2.3), ((0, 0), 3.2))
"""How many times as long a machine's host may take, from a compute capability on: the largest of
the above on an A100 and a V100; beside newer GPUs an allowance."""


def interval(
    profile: Profile, gpu: GPU, driver: Host, mode: str, period_s: Any, busy_s: Any, host_s: Any
) -> tuple[Any, Any]:
    """The ends in seconds of periods [...] in which the GPU is busy and the host works so long. A
    host of the user's own is known."""
    low, high = widened(profile.interval_on(gpu.id, mode), gpu, profile)
    if gpu.id == profile.of or driver.id != host().id:
        return period_s * low, period_s * high
    slower = next(times for since, times in _SLOWER if _capability(gpu) >= since)
    least = np.minimum(period_s, np.maximum(busy_s, host_s * _FASTER))
    return least * low, np.maximum(period_s * high, host_s * slower)


def _capability(gpu: GPU) -> tuple[int, int]:
    return gpu.compute_capability or (9, 0)
