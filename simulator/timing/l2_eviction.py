"""Data that kernels read again, and the share of these reads that comes from DRAM.

ATen's vectorized kernels of layer and RMS norm walk over a row for its statistics and again to
apply them (ATen/native/cuda/layer_norm_kernel.cu). In between, all other running blocks read their
rows; if L2 does not hold these, the second walk reads DRAM.

A concatenation reads the columns of a transposed matrix as rows, and each element from another
line. The next rows find the lines in L2, unless one row fills it with lines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.timing.profile import Profile
from simulator.timing.rates import l2_kept_bytes, units_of
from simulator.timing.work_columns import Group
from simulator.varying import stacked

Floats = NDArray[np.float64]

_TWICE = {
    "norm_fused": 1,
    "norm_fused_rms": 1,
    "norm_input_gradient": 2,
    "norm_input_gradient_rms": 2,
}
"""The number of operands that kernels of each of these curves read twice. The kernels write one
further operand."""
_TURNING = "concat"
"""The curve of kernels that read columns as rows."""
_BLOCKS = 8
"""Blocks of 128 threads that run on a multiprocessor at the same time, limited by registers."""
_ALL_KEPT, _NONE_KEPT = 0.6, 1.5
"""Shares of the usable L2: up to the first share, no second walk reads DRAM; above the second
share, all do. LayerNorm in single precision on a T4, a V100 and an A100 (sitar-lab/NeuSight, MIT)
moves 2.3, 2.5 and 2.4 times its rows if they fill 0.6, 0.8 and 0.8 of L2. If they fill 1.2, 1.6 and
1.4 of it, it moves 3.2, 3.1 and 3.3 times its rows."""


_LINES_LOST = 1.0
"""Share of the usable L2 that the lines of a row fill when each element is read from DRAM: lines
that are read in turns, and do not all fit, are evicted before the next turn."""
_DRAM_ACCESS_BYTES = 64


def rereads(curve: str) -> bool:
    """Whether kernels of this curve read data again that L2 may have evicted."""
    return curve == _TURNING or curve in _TWICE


def l2_reread_s(
    group: Group, curve: str, gpu: GPU, profile: Profile, dram_bytes_per_s: float
) -> Floats:
    """Seconds [works] in which kernels of a curve that `rereads` do so."""
    if curve == _TURNING:
        return _turned_bytes(group, gpu, profile) / gpu.bandwidth_bytes_per_s
    operands = _TWICE[curve]
    row_bytes = stacked([_row_bytes(work) for work in group.works], group.counts)
    again = (
        operands * row_bytes * group.rows * _lost(group, row_bytes * (operands + 1), gpu, profile)
    )
    return again / dram_bytes_per_s


def _turned_bytes(group: Group, gpu: GPU, profile: Profile) -> Floats:
    """Bytes [works] from DRAM for elements whose lines L2 has evicted."""
    lines = stacked([work.dims.get("row_lines_bytes", 0) for work in group.works], group.counts)
    turned = stacked([work.dims.get("turned", 0) for work in group.works], group.counts)
    filled = lines / np.maximum(l2_kept_bytes(gpu, profile), 1.0)
    lost = np.clip((filled - _ALL_KEPT) / (_LINES_LOST - _ALL_KEPT), 0.0, 1.0)
    return lost * turned * _DRAM_ACCESS_BYTES


def _row_bytes(work: Work) -> int:
    return work.dims["cols"] * work.dims["itemsize"]


def _lost(group: Group, moved: Floats, gpu: GPU, profile: Profile) -> Floats:
    """Share of the rows that L2 evicts, given `moved` bytes of traffic for each row."""
    running = np.minimum(units_of(gpu) * _BLOCKS, group.rows) * moved
    filled = running / np.maximum(l2_kept_bytes(gpu, profile), 1.0)
    return np.clip((filled - _ALL_KEPT) / (_NONE_KEPT - _ALL_KEPT), 0.0, 1.0)
