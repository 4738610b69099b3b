"""A lower bound on the time of kernels that compute an offset for every element.

Two costs bound them, even if everything else overlaps: lookups of lines that L1 has evicted before
its blocks use them again, and the divisions that compute the offsets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.timing.rates import loading_clocks_per_s, peak_flops_per_s

OFFSETS = {"warp_sectors", "offset_slots"}
"""Dimensions of works that compute offsets."""
_BLOCKS = 16
"""Blocks of 128 threads that run on a multiprocessor at the same time."""
_LINE_BYTES = 128
_L1_BYTES = 256 * 1024
"""L1 and shared memory of one multiprocessor (NVIDIA H100 white paper; 192 KiB on an A100)."""
_ALL_KEPT, _NONE_KEPT = 0.5, 1.5
_LOOKUP_CLOCKS = 1.4
"""Clocks of a multiprocessor for each sector of 32 bytes that a warp touches after L1 evicted it.
Of 201 permuting copies and additions of at least 6 µs on an H200, 52 are uncoalesced. In these, the
lines of the running blocks fill L1 0.2 to 10 times. A sector takes 1.2 to 1.5 clocks if they fill
it 1.5 times or more, and 0.5 to 1.1 clocks if they fill it 0.8 times or less."""


def least_s(work: Work, gpu: GPU) -> Any:
    """The lower bound on the seconds of a work; 0 if it computes no offsets."""
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
