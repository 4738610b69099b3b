"""What all models of kernels share: their terms, and the peaks of the engines that works run on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.timing.profile import Profile
from simulator.timing.rates import dram_reach, peak_flops_per_s, roof_flops_per_s
from simulator.timing.transfer import measured_on, transfer_slowdown, transfers
from simulator.timing.work_columns import Group
from simulator.varying import stacked

Floats = NDArray[np.float64]

_EVICTING = 0.42
_WRITTEN = 0.7
"""A kernel writes back lines of earlier kernels if writes were at least half of their traffic:
`_EVICTING` bytes for each byte that it reads from DRAM, up to the share `_WRITTEN` of L2. Both are
measured by `calibration.record.written_back` (0.39 and 0.60 on a second H200). On an H200 a linear
layer of one row reads 34 MB in 10.4 µs after kernels that only read and in 13.6 µs after others,
and 117 MB in 29 and 39 µs. A sum of 134 MB takes 35 and 43 µs, a copy of 33 MB 15 and 18 µs."""


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


def written_back_s(group: Group, gpu: GPU, profile: Profile) -> Floats:
    """Seconds of writing back lines that earlier kernels left in L2."""
    limit_bytes = _WRITTEN * (gpu.l2_bytes or 0) * group.read_bytes / np.maximum(group.bytes, 1)
    most = gpu.bandwidth_bytes_per_s * dram_reach(gpu, profile)
    return np.minimum(_EVICTING * group.read_bytes, limit_bytes) / most


def slowdown(group: Group, gpu: GPU, profile: Profile, share: Floats | float) -> Floats:
    """Slowdown on this GPU of works that reach `share` of the peak on the measured GPU [works]."""
    measured = measured_on(profile.gpu)
    if measured is None or not transfers(gpu, measured):
        return np.ones(len(group.bytes))  # without the peaks of all works
    return transfer_slowdown(
        share, on_tensor(group), peaks(group, gpu), peaks(group, measured), gpu, measured
    )


def peaks(group: Group, gpu: GPU, engine: str | None = None) -> Floats:
    """FLOP/s of each work's engine, or of `engine` in double or single precision."""
    if engine is None:
        kinds = {(w.family, w.engine, w.dtype): w for w in group.works}
        peak_of = {kind: roof_flops_per_s(gpu, work) for kind, work in kinds.items()}
        roofs = [peak_of[w.family, w.engine, w.dtype] for w in group.works]
    else:
        doubles = peak_flops_per_s(gpu, engine, "float64")
        singles = peak_flops_per_s(gpu, engine, "float32")
        roofs = [doubles if w.dtype == "float64" else singles for w in group.works]
    return stacked(roofs, group.counts)


def on_tensor(group: Group) -> NDArray[np.bool_]:
    """Whether each work runs on tensor cores [works]."""
    return stacked([w.engine == "tensor" for w in group.works], group.counts) > 0
