"""Convolutions that cuDNN runs on vector lanes though tensor cores support them.

The kernels of 9,580 layers in users' style were recorded on an H200 (cuDNN 9.19,
`calibration/measurements/h200_sxm/users_layers.jsonl.gz`). Most of these choices are slow: the
gradient of a video's layer over space takes up to 50 times as long as on tensor cores.
"""

from __future__ import annotations

from math import prod

from simulator.lowering.implicit_gemm import Product

_SMALL_VOLUME = (4, 16)
"""Taps, between these numbers, of volumes' kernels whose gradient of the input runs on lanes: all
of (1, 3, 3) and (2, 2, 2), none of (1, 1, 1), (3, 1, 1), (1, 7, 7) and (3, 3, 3)."""
_VOLUME_OUTPUTS, _VOLUME_WORK = 64, 7e11
"""The largest number of outputs, and of multiply-adds times input channels, for which it does: 42
of 42 recorded, with at most 5.4e11; 0 of 222 others."""
_WIDE_STRIDE, _LONG_SIDE = 4, 5
_ENGINE_INPUTS, _ENGINE_OUTPUTS, _ENGINE_ROWS, _ENGINE_ELEMENTS = 64, 64, 2**15, 1_000_000
"""A gradient of the input (a transposed convolution) with a stride of at least 4 and a side of at
least 5 taps runs on lanes (`dgrad_engine`) if it has at most 64 input channels, at least 64 output
channels, and at least so many pixels of the input and elements of the output: 20 of 24 recorded, 23
of 595 others. In TF32 and three dimensions, a stride of at least 4 suffices (`convolveNd_dgrad`, 15
of 15; 10 of 57 others)."""


def has_direct_volume_gradient(c: Product) -> bool:
    """Whether a kernel that supports any groups (`dgrad2d_grouped_direct_kernel`) computes the
    gradient of a volume in half precision."""
    d = c.work.dims
    volume = d["dims"] == 3 and d["groups"] == 1 and not c.few and not d["channels_last"]
    if not (volume and c.half and c.direction == "dgrad") or c.strided or c.planar:
        return False
    low, high = _SMALL_VOLUME
    small = low < prod(d["kernel"]) < high
    return small and d["cout"] <= _VOLUME_OUTPUTS and c.adds * d["cin"] < _VOLUME_WORK


def runs_on_engine(c: Product) -> bool:
    """Whether a gradient of the input that leaves out pixels, which is also the forward pass of a
    transposed convolution, runs on vector lanes."""
    d = c.work.dims
    if c.direction != "dgrad" or d["groups"] > 1 or d["channels_last"] or c.few or c.planar:
        return False
    if min(d["stride"]) < _WIDE_STRIDE:
        return False
    if d["dims"] == 3:
        return not c.half
    elements = d["n"] * d["cout"] * prod(d["spatial_out"])
    channels = d["cin"] <= _ENGINE_INPUTS and d["cout"] >= _ENGINE_OUTPUTS
    large = c.rows >= _ENGINE_ROWS and elements >= _ENGINE_ELEMENTS
    return c.half and max(d["kernel"]) >= _LONG_SIDE and channels and large
