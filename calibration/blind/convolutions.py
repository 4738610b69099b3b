"""Convolutions, forward and backward: strided, dilated, grouped, depthwise and transposed."""

from __future__ import annotations

from random import Random
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from calibration.blind.draws import blind, laid, size
from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, whole

_FORMS = {"dense": 6.0, "depthwise": 2.0, "grouped": 1.5, "transposed": 1.5}
_MOST_FLOPS = {"fp32": 6e10, "bf16": 4e11, "fp16": 4e11}


def _convolution(rng: Random) -> Params | None:
    kind, form = dtype(rng), pick(rng, _FORMS)
    channels, out = size(rng, 3, 1024), size(rng, 8, 1024)
    groups = 1
    if form == "depthwise":
        groups = out = channels
    elif form == "grouped":
        groups = rng.choice([2, 4, 8, 32])
        channels, out = (max(1, each // groups) * groups for each in (channels, out))
    kernel = rng.choice([1, 2, 3, 3, 3, 4, 5, 7])
    stride = rng.choice([1, 1, 1, 2, 2, kernel])
    batch, height = whole(rng, 1, 128), whole(rng, 7, 256)
    width = height if rng.random() < 0.7 else whole(rng, 7, 256)
    up = form == "transposed"
    area = height * width * (stride**2 if up else 1 / stride**2)
    flops = 2 * batch * channels * out // groups * kernel**2 * (height * width if up else area)
    largest = batch * max(channels * height * width, out * area) * ITEM_BYTES[kind]
    if flops > _MOST_FLOPS[kind] or largest > LARGEST_BYTES / 2:
        return None
    return {
        "dtype": kind,
        "sizes": [batch, channels, height, width],
        "out": out,
        "kernel": kernel,
        "stride": stride,
        "padding": rng.choice([0, kernel // 2]),
        "dilation": 2 if not up and rng.random() < 0.1 and kernel > 1 else 1,
        "groups": groups,
        "transposed": up,
        "layout": rng.choice(["contiguous", "channels_last"]),
        "bias": rng.random() < 0.5,
    }


def _operands(
    point: Params, grad: bool = False
) -> tuple[Tensor, Tensor, Tensor | None, dict[str, Any]]:
    """The input, weight, bias and other arguments."""
    dtype, channels, out = point["dtype"], point["sizes"][1], point["out"]
    groups, kernel, up = point["groups"], point["kernel"], point["transposed"]
    first, second = (channels, out) if up else (out, channels)
    weight = random(first, second // groups, kernel, kernel, dtype=dtype)
    if point["layout"] == "channels_last":
        weight = channels_last(weight)
    return (
        laid(point["sizes"], dtype, point["layout"], grad),
        weight.requires_grad_(grad),
        random(out, dtype=dtype, grad=grad) if point["bias"] else None,
        {key: point[key] for key in ("stride", "padding", "dilation", "groups")},
    )


@blind(60, _convolution)
def blind_convolution(**point: Any) -> Call:
    """A convolution with arguments drawn by `_convolution`; `sizes` are those of the input."""
    x, w, b, rest = _operands(point)
    function = F.conv_transpose2d if point["transposed"] else F.conv2d
    return lambda: function(x, w, b, **rest)


@blind(40, _convolution)
def blind_convolution_backward(**point: Any) -> Call:
    """Gradients of input, weight and bias."""
    x, w, b, rest = _operands(point, grad=True)
    function = F.conv_transpose2d if point["transposed"] else F.conv2d
    return backward(function(x, w, b, **rest), (x, w) if b is None else (x, w, b))


def _sequence(rng: Random) -> Params | None:
    kind, channels, out = dtype(rng), size(rng, 1, 1024), size(rng, 8, 1024)
    groups = channels if rng.random() < 0.25 else 1
    out = channels if groups > 1 else out
    kernel, batch, length = (
        rng.choice([1, 3, 4, 5, 9, 16, 31]),
        whole(rng, 1, 64),
        size(rng, 16, 65536),
    )
    largest = batch * max(channels, out) * length * ITEM_BYTES[kind]
    flops = 2 * batch * channels * out // groups * kernel * length
    if flops > _MOST_FLOPS[kind] or largest > LARGEST_BYTES / 2:
        return None
    return {
        "dtype": kind,
        "sizes": [batch, channels, length],
        "out": out,
        "kernel": kernel,
        "stride": rng.choice([1, 1, 2, 4]),
        "groups": groups,
    }


@blind(20, _sequence)
def blind_convolution_1d(
    dtype: str, sizes: list[int], out: int, kernel: int, stride: int, groups: int
) -> Call:
    """A convolution over [batch, channels, length], as for audio and text."""
    x, w = random(*sizes, dtype=dtype), random(out, sizes[1] // groups, kernel, dtype=dtype)
    b = random(out, dtype=dtype)
    return lambda: F.conv1d(x, w, b, stride, kernel // 2, 1, groups)
