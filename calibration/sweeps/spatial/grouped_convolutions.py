"""Grouped convolutions as networks have them (ResNeXt, RegNet, ResNeSt): equal numbers of input and
output channels per group, mostly multiples of 8, in both layouts."""

from __future__ import annotations

from random import Random
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, sweep, whole

_WIDTHS = (4, 4, 8, 8, 16, 16, 24, 32, 32, 40, 48, 56, 64, 64, 80, 96, 112, 128, 232, 264)
_GROUPS = (2, 4, 8, 16, 32, 32, 64)
_KERNELS = {"1": 1.0, "3": 8.0, "5": 1.0, "7": 0.5}
_MOST_CHANNELS = 2048
_MOST_FLOPS = {"fp32": 5e10, "bf16": 3e11, "fp16": 3e11}


def _layer(rng: Random) -> Params | None:
    kind, width, groups = dtype(rng), rng.choice(_WIDTHS), rng.choice(_GROUPS)
    kernel, stride = int(pick(rng, _KERNELS)), rng.choice((1, 1, 1, 2))
    batch, side = whole(rng, 1, 128), whole(rng, 7, 112)
    channels = width * groups
    elements = batch * channels * side**2
    flops = 2 * elements * width * kernel**2 / stride**2
    if (
        channels > _MOST_CHANNELS
        or flops > _MOST_FLOPS[kind]
        or elements * ITEM_BYTES[kind] > LARGEST_BYTES / 4
    ):
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.6,
        "batch": batch,
        "channels": channels,
        "groups": groups,
        "side": side,
        "kernel": kernel,
        "stride": stride,
    }


def _layer_call(params: dict[str, Any], grad: bool) -> tuple[Tensor, Tensor, dict[str, int]]:
    kind, channels, side, kernel = (params[n] for n in ("dtype", "channels", "side", "kernel"))
    x = random(params["batch"], channels, side, side, dtype=kind, grad=grad)
    w = random(channels, channels // params["groups"], kernel, kernel, dtype=kind, grad=grad)
    if params["last"]:
        x, w = channels_last(x, grad), channels_last(w, grad)
    options = {"stride": params["stride"], "padding": kernel // 2, "groups": params["groups"]}
    return x, w, options


@operation(sweep("grouped_convolution", 100, _layer))
def grouped_convolution(**params: Any) -> Call:
    """Images [batch, channels, side, side] by weights [channels, channels / groups, k, k]."""
    x, w, options = _layer_call(params, False)
    return lambda: F.conv2d(x, w, None, **options)


@operation(sweep("grouped_convolution_backward", 80, _layer))
def grouped_convolution_backward(**params: Any) -> Call:
    """The gradients of images and weights."""
    x, w, options = _layer_call(params, True)
    return backward(F.conv2d(x, w, None, **options), [x, w])
