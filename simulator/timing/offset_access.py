"""The least time of kernels that compute an offset for every element.

Two things bound them however well the rest overlaps: looking up lines in L1 where it cannot keep
what its blocks touch until they come back for it, and the divisions of the offsets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.timing.rates import loading_clocks_per_s, peak_flops_per_s

_BLOCKS = 16
"""Blocks of 128 threads that run on a multiprocessor at a time."""
_LINE_BYTES = 128
_L1_BYTES = 256 * 1024
"""L1 and shared memory of one multiprocessor (NVIDIA H100 white paper; 192 KiB on an A100)."""
_ALL_KEPT, _NONE_KEPT = 0.5, 1.5
_LOOKUP_CLOCKS = 1.4
"""Clocks of a multiprocessor for each sector of 32 bytes that a warp touches and L1 has lost. In 52
of 201 permuting copies and additions of 6 µs and more on an H200, those that are not coalesced, the
lines of the running blocks fill L1 0.2 to 10 times: from 1.5 times on they take 1.2 to 1.5 clocks a
sector, up to 0.8 times 0.5 to 1.1."""


def least_s(work: Work, gpu: GPU) -> Any:
    """Seconds of a work below which no overlap brings it; 0 where it computes no offsets."""
    dims = work.dims
    if "warp_sectors" in dims and gpu.boost_hz:
        running = np.multiply(dims["block_lines"], 1.0 * _BLOCKS * _LINE_BYTES)
        filled = running / _L1_BYTES
        lost = (filled - _ALL_KEPT) / (_NONE_KEPT - _ALL_KEPT)
        lost = np.minimum(np.maximum(lost, 0.0), 1.0)
        return dims["warp_sectors"] * lost * _LOOKUP_CLOCKS / loading_clocks_per_s(gpu)
    if "offset_slots" in dims:
        return dims["offset_slots"] / (peak_flops_per_s(gpu, "vector", "float32") / 2)
    return 0.0
