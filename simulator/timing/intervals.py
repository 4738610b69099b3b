"""The 80% interval of a step's period: of the GPU's work by its profile, of the host's by how far
the machines of its kind lie apart (`Host.spread`).

On the GPU that was measured the default host was, too. Another GPU stands in a machine of its own,
most often as old as it is: NVIDIA's EfficientNets of few pictures (NVIDIA/DeepLearningExamples,
Apache-2.0) take 1.8 to 2.3 times as long as on the fastest host measured here on a DGX A100 and 2.7
to 3.2 times on a DGX-1 with V100s, whatever the batch; that host is 1.36 times as fast as the
default one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.hardware.gpu import GPU
from simulator.hardware.host import DEFAULT, Host
from simulator.timing.profile import Profile
from simulator.timing.software import widened

_SLOWER = (((9, 0), 1.0), ((8, 0), 2.3 / 1.36), ((0, 0), 3.2 / 1.36))
"""How many times as long as the default a machine's host may take, from a compute capability on:
the largest of the above on an A100 and a V100."""


def interval(
    profile: Profile, gpu: GPU, driver: Host, mode: str, period_s: Any, busy_s: Any, host_s: Any
) -> tuple[Any, Any]:
    """The ends in seconds of periods [...] in which the GPU is busy and the host works so long."""
    low, high = widened(profile.interval_on(gpu.id, mode), gpu, profile)
    faster, slower = widened(driver.spread, gpu, profile)
    if driver.id == DEFAULT and gpu.id != profile.of:
        slower = max(slower, next(n for since, n in _SLOWER if _capability(gpu) >= since))
    bound_s = np.maximum(np.maximum(busy_s, host_s), 1e-12)
    least = np.maximum(busy_s * low, host_s * faster)
    most = np.maximum(busy_s * high, host_s * slower)
    return period_s * np.minimum(1.0, least / bound_s), period_s * np.maximum(1.0, most / bound_s)


def _capability(gpu: GPU) -> tuple[int, int]:
    return gpu.compute_capability or (9, 0)
