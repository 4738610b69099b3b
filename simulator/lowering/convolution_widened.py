"""Grouped convolutions in half precision and NHWC with more output than input channels per group.

cuDNN computes most of their forward passes group by group. The rules were observed on an H100
(cuDNN 9.19) with 440 random shapes (`calibration/measurements/h100_sxm/uneven.jsonl.gz`).
"""

from __future__ import annotations

from math import prod

import msgspec

from simulator.costs import Work
from simulator.lowering.implicit_gemm import Product

_MANY_PAIRS = 32  # groups of two or three channels that a 3×3 kernel multiplies together
_FEW_POSITIONS = 11_000  # output positions up to which one kernel computes all weight gradients


def widened(work: Work, dtype: str) -> Work:
    """A depthwise convolution in half precision and NHWC with several output channels for each
    input channel counts as a grouped one, because cuDNN's depthwise kernels cannot run it. FastViT
    widens its depthwise stages in this way. Other convolutions are unchanged."""
    d = work.dims
    if not (d["depthwise"] and d["cout"] > d["cin"] and d["channels_last"] and d["dims"] == 2):
        return work
    if dtype not in ("float16", "bfloat16"):
        return work
    return msgspec.structs.replace(
        work, engine="tensor", dtype=dtype, instructions=0, dims=d | {"depthwise": False}
    )


def is_widened(c: Product) -> bool:
    """Whether a grouped convolution has several output channels for each input channel."""
    d = c.work.dims
    return 1 < d["groups"] == d["cin"] < d["cout"] and c.half and d["channels_last"]


def runs_on_lanes(c: Product) -> bool:
    """Whether cuDNN runs the groups of a forward pass in half precision and NHWC one after the
    other on vector lanes. It does so for widened groups of one to three channels, except for many
    3×3 groups of two or three (240 convolutions on an H100, cuDNN 9.19)."""
    d = c.work.dims
    into = d["cin"] // d["groups"]
    widens = c.half and d["channels_last"] and d["cout"] > d["cin"]
    if c.direction != "fwd" or c.unit or not widens:
        return False
    return into == 1 or (into < 4 and (max(d["kernel"]) > 3 or d["groups"] < _MANY_PAIRS))


def has_direct_kernel(c: Product) -> bool:
    """Whether one slow kernel, which supports any groups, computes a widened convolution or its
    gradient."""
    positions = c.work.dims["n"] * prod(c.work.dims["spatial_out"])
    return c.unit or (c.direction == "wgrad" and positions < _FEW_POSITIONS)
