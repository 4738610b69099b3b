"""The 80% interval of a step's period: GPU work by the GPU's profile, host work by the spread
between machines with the same host (`Host.spread`), or with the same host and GPU.

The default host was measured with the measured GPU. Another GPU is usually in a machine of its own
age. Compared with the fastest host measured here, NVIDIA's EfficientNets at small batches
(NVIDIA/DeepLearningExamples, Apache-2.0) take 1.8 to 2.3 times as long on a DGX A100. On a DGX-1
with V100s they take 2.7 to 3.2 times as long, at any of these batches. That fastest host is 1.5
times as fast as the default one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.hardware.gpu import GPU
from simulator.hardware.host import DEFAULT, Host
from simulator.timing.profile import Profile
from simulator.timing.software import widened

_SLOWER, _SLOWEST = (((9, 0), 1.0), ((8, 0), 2.3 / 1.5)), 3.2 / 1.5
"""The largest slowdown of a machine's host relative to the default host, by the lowest compute
capability of its GPU, and of a GPU with a lower one. For an A100 and a V100 it is the largest
factor of the module's docstring, divided by the 1.5 of the fastest host."""


def interval(
    profile: Profile, gpu: GPU, driver: Host, mode: str, period_s: Any, busy_s: Any, host_s: Any
) -> tuple[Any, Any]:
    """The ends of the interval, in seconds, of periods [...] with `busy_s` of GPU work and `host_s`
    of host work."""
    low, high = widened(profile.interval_on(gpu.id, mode), gpu, profile)
    faster, slower = widened(driver.spread_on(gpu.id), gpu, profile)
    if driver.id == DEFAULT and gpu.id != profile.of:
        slower = max(slower, _slowdown(gpu))
    bound_s = np.maximum(np.maximum(busy_s, host_s), 1e-12)
    least = np.maximum(busy_s * low, host_s * faster)
    most = np.maximum(busy_s * high, host_s * slower)
    return period_s * np.minimum(1.0, least / bound_s), period_s * np.maximum(1.0, most / bound_s)


def _slowdown(gpu: GPU) -> float:
    """The largest slowdown of the host of a GPU; 1 if its compute capability is unknown."""
    capability = gpu.compute_capability
    if capability is None:
        return 1.0
    return next((slower for since, slower in _SLOWER if capability >= since), _SLOWEST)
