"""Convolutions of any channels, groups, kernels, strides, dilations and sides, in both layouts.

`calibration.sweeps.spatial.convolutions` has the shapes of networks; here any valid shape is drawn,
including thin groups, even kernels and transposed convolutions with a bias.
"""

from __future__ import annotations

from random import Random
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, sweep, whole

_FORMS = {"dense": 5.0, "depthwise": 2.0, "grouped": 2.0, "transposed": 2.0}
_MOST_FLOPS = {"fp32": 5e10, "bf16": 3e11, "fp16": 3e11}
_KERNELS = {"1": 1.0, "2": 1.0, "3": 4.0, "4": 1.0, "5": 1.5, "7": 1.5, "9": 0.3}


def _channels(rng: Random, low: int, high: int) -> int:
    """A log-uniform number of channels. It is any number, a multiple of 8 or a multiple of 64, with
    equal probability."""
    count, step = whole(rng, low, high), rng.choice([1, 8, 64])
    return round(count / step) * step or count


def _layer(rng: Random) -> Params | None:
    kind, form = dtype(rng), pick(rng, _FORMS)
    inward, outward, groups = _channels(rng, 2, 1024), _channels(rng, 4, 1024), 1
    if form == "depthwise":
        groups = outward = inward
        outward *= rng.choice([1, 1, 1, 1, 2])
    elif form == "grouped":
        groups = rng.choice([2, 3, 4, 8, 16, 32])
        inward, outward = (max(1, each // groups) * groups for each in (inward, outward))
    kernel = int(pick(rng, _KERNELS))
    stride = rng.choice([1, 1, 1, 2, 2, kernel])
    batch, height = whole(rng, 1, 128), whole(rng, 7, 256)
    width = height if rng.random() < 0.7 else whole(rng, 7, 256)
    up = form == "transposed"
    area = height * width * (stride**2 if up else 1 / stride**2)
    positions = height * width if up else area
    flops = 2 * batch * inward * outward // groups * kernel**2 * positions
    largest = batch * max(inward * height * width, outward * area) * ITEM_BYTES[kind]
    dilation = 2 if not up and kernel > 1 and rng.random() < 0.1 else 1
    if flops > _MOST_FLOPS[kind] or largest > LARGEST_BYTES / 4:
        return None
    if min(height, width) <= dilation * (kernel - 1):
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.5,
        "batch": batch,
        "inward": inward,
        "outward": outward,
        "sides": [height, width],
        "kernel": kernel,
        "stride": stride,
        "padding": rng.choice([0, kernel // 2]),
        "dilation": dilation,
        "groups": groups,
        "up": up,
        "bias": rng.random() < 0.3,
    }


def _operands(p: Params, grad: bool) -> tuple[Tensor, Tensor, Tensor | None, dict[str, Any]]:
    """The input, weight, bias and other arguments."""
    kind, inward, outward, groups = p["dtype"], p["inward"], p["outward"], p["groups"]
    first, second = (inward, outward) if p["up"] else (outward, inward)
    x = random(p["batch"], inward, *p["sides"], dtype=kind, grad=grad)
    w = random(first, second // groups, p["kernel"], p["kernel"], dtype=kind, grad=grad)
    if p["last"]:
        x, w = channels_last(x, grad), channels_last(w, grad)
    b = random(outward, dtype=kind, grad=grad) if p["bias"] else None
    return x, w, b, {name: p[name] for name in ("stride", "padding", "dilation", "groups")}


@operation(sweep("varied_convolution", 800, _layer))
def varied_convolution(**params: Any) -> Call:
    """A convolution with `params` drawn by `_layer`; with `up` it is transposed."""
    x, w, b, rest = _operands(params, False)
    function = F.conv_transpose2d if params["up"] else F.conv2d
    return lambda: function(x, w, b, **rest)


@operation(sweep("varied_convolution_backward", 550, _layer))
def varied_convolution_backward(**params: Any) -> Call:
    """Gradients of input, weight and bias."""
    x, w, b, rest = _operands(params, True)
    function = F.conv_transpose2d if params["up"] else F.conv2d
    return backward(function(x, w, b, **rest), (x, w) if b is None else (x, w, b))


def _sequence(rng: Random) -> Params | None:
    kind, inward, outward = dtype(rng), _channels(rng, 1, 1024), _channels(rng, 4, 1024)
    groups = inward if rng.random() < 0.2 else 1
    outward = inward if groups > 1 else outward
    kernel = rng.choice([1, 2, 3, 4, 5, 7, 9, 16, 25, 31])
    batch, length = whole(rng, 1, 64), whole(rng, 32, 65536)
    stride = rng.choice([1, 1, 2, 4])
    largest = batch * max(inward, outward) * length * ITEM_BYTES[kind]
    flops = 2 * batch * inward * outward // groups * kernel * length / stride
    if flops > _MOST_FLOPS[kind] or largest > LARGEST_BYTES / 4:
        return None
    return {
        "dtype": kind,
        "batch": batch,
        "inward": inward,
        "outward": outward,
        "length": length,
        "kernel": kernel,
        "stride": stride,
        "groups": groups,
        "bias": rng.random() < 0.3,
    }


@operation(sweep("varied_sequence", 260, _sequence))
def varied_sequence(
    dtype: str,
    batch: int,
    inward: int,
    outward: int,
    length: int,
    kernel: int,
    stride: int,
    groups: int,
    bias: bool,
) -> Call:
    """Convolve [batch, inward, length] to `outward` channels, padded by half the kernel."""
    x = random(batch, inward, length, dtype=dtype)
    w = random(outward, inward // groups, kernel, dtype=dtype)
    b = random(outward, dtype=dtype) if bias else None
    return lambda: F.conv1d(x, w, b, stride, kernel // 2, 1, groups)
