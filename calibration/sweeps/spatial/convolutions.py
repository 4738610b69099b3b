"""Convolutions of one, two and three dimensions, forward and backward, in both memory formats.

`calibration.record.convolution_samples` already has nine hundred convolutions of two dimensions.
These add shapes close to those of real networks, depthwise convolutions, and one and three
dimensions.
"""

from __future__ import annotations

from math import prod
from random import Random

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, sweep, whole, width

MOST_FLOPS = {"fp32": 5e11, "bf16": 1.5e12, "fp16": 1.5e12}
_CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_SIDES = {1: (64, 8192), 2: (7, 256), 3: (4, 48)}
_KERNELS = {
    1: {1: 2.0, 3: 4.0, 5: 1.0, 7: 1.0, 15: 0.5},
    2: {1: 4.0, 3: 5.0, 5: 1.0, 7: 1.0, 16: 0.4},
    3: {1: 2.0, 3: 4.0},
}


def _layer(rng: Random, dims: int) -> Params | None:
    kind = dtype(rng)
    kernel = int(pick(rng, {str(k): w for k, w in _KERNELS[dims].items()}))
    stride = kernel if kernel == 16 else rng.choice([1, 1, 1, 2])
    inward = rng.choice([3, 1]) if rng.random() < 0.1 else width(rng, 16, 2048, 32)
    outward = width(rng, 16, 2048, 32)
    groups = 1
    shape = rng.random()
    if 1 < kernel < 16 and shape < 0.3 and dims < 3 and inward > 3:
        groups = outward = inward  # depthwise
    elif 1 < kernel < 16 and shape < 0.4 and dims < 3 and inward % 32 == outward % 32 == 0:
        groups = rng.choice([2, 4, 8, 32])
    batch, side = whole(rng, 1, 128), whole(rng, *_SIDES[dims])
    if side < kernel:
        return None
    elements = batch * (side // stride) ** dims
    flops = 2.0 * elements * outward * (inward // groups) * kernel**dims
    largest = max(batch * side**dims * inward, elements * outward) * ITEM_BYTES[kind]
    most = 1e10 if groups == inward else 1e11 if groups > 1 else 3e11 if dims == 3 else 1.5e12
    if flops > min(most, MOST_FLOPS[kind]) or largest > LARGEST_BYTES:
        # depthwise convolutions have a lower limit: they run on the vector units and are slower
        return None
    return {
        "dtype": kind,
        "dims": dims,
        "last": dims > 1 and rng.random() < 0.5,
        "batch": batch,
        "inward": inward,
        "outward": outward,
        "side": side,
        "kernel": kernel,
        "stride": stride,
        "groups": groups,
        "bias": rng.random() < 0.4,
    }


def _any(rng: Random) -> Params | None:
    return _layer(rng, int(pick(rng, {"1": 2.0, "2": 5.0, "3": 1.5})))


def _operands(
    dtype: str,
    dims: int,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    groups: int,
    bias: bool,
    grad: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    x = random(batch, inward, *[side] * dims, dtype=dtype, grad=grad)
    w = random(outward, inward // groups, *[kernel] * dims, dtype=dtype, grad=grad)
    if last:
        x, w = channels_last(x, grad), channels_last(w, grad)
    return x, w, random(outward, dtype=dtype, grad=grad) if bias else None


@operation(sweep("convolution", 1100, _any))
def convolution(
    dtype: str,
    dims: int,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    stride: int,
    groups: int,
    bias: bool,
) -> Call:
    """Convolve [batch, inward, side, ...] to [batch, outward, ...] along `dims` dimensions; `last`
    is channels last in memory. The padding is half the kernel, except for patches."""
    x, w, b = _operands(
        dtype, dims, last, batch, inward, outward, side, kernel, groups, bias, False
    )
    padding = 0 if stride == kernel else kernel // 2
    return lambda: _CONVOLVE[dims](x, w, b, stride, padding, 1, groups)


@operation(sweep("convolution_backward", 1100, _any))
def convolution_backward(
    dtype: str,
    dims: int,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    stride: int,
    groups: int,
    bias: bool,
) -> Call:
    """Gradients of weights and bias, and of the input unless it is an image."""
    x, w, b = _operands(dtype, dims, last, batch, inward, outward, side, kernel, groups, bias, True)
    padding = 0 if stride == kernel else kernel // 2
    y = _CONVOLVE[dims](x, w, b, stride, padding, 1, groups)
    parameters = [t for t in (w, b) if t is not None]
    return backward(y, parameters if inward <= 3 else [x, *parameters])


def _channelwise(rng: Random) -> Params | None:
    kind, channels = dtype(rng), width(rng, 16, 1536, 32)
    kernel = int(pick(rng, {"3": 4.0, "5": 2.0, "7": 3.0}))
    batch, side = whole(rng, 1, 256), whole(rng, 7, 160)
    size = batch * side**2 * channels
    if 2.0 * size * kernel**2 > 1e10 or size * ITEM_BYTES[kind] > LARGEST_BYTES:
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.5,
        "batch": batch,
        "channels": channels,
        "side": side,
        "kernel": kernel,
        "stride": rng.choice([1, 1, 2]),
    }


@operation(sweep("depthwise", 110, _channelwise))
def depthwise(
    dtype: str, last: bool, batch: int, channels: int, side: int, kernel: int, stride: int
) -> Call:
    """A depthwise convolution of [batch, channels, side, side], as in MobileNet and ConvNeXt."""
    return convolution(
        dtype, 2, last, batch, channels, channels, side, kernel, stride, channels, False
    )


@operation(sweep("depthwise_backward", 170, _channelwise))
def depthwise_backward(
    dtype: str, last: bool, batch: int, channels: int, side: int, kernel: int, stride: int
) -> Call:
    """Gradients of a depthwise layer's input and weights."""
    return convolution_backward(
        dtype, 2, last, batch, channels, channels, side, kernel, stride, channels, False
    )


def _upward(rng: Random) -> Params | None:
    kind = dtype(rng)
    batch, side = whole(rng, 1, 64), whole(rng, 7, 128)
    inward, outward = width(rng, 32, 1024), width(rng, 16, 512, 32)
    kernel = rng.choice([2, 4])
    elements = prod((batch, 2 * side, 2 * side))
    if 2.0 * elements * inward * outward * kernel**2 / 4 > MOST_FLOPS[kind]:
        return None
    if elements * max(outward, inward / 4) * ITEM_BYTES[kind] > LARGEST_BYTES:
        return None
    return {
        "dtype": kind,
        "batch": batch,
        "inward": inward,
        "outward": outward,
        "side": side,
        "kernel": kernel,
    }


@operation(sweep("transposed_convolution", 120, _upward))
def transposed_convolution(
    dtype: str, batch: int, inward: int, outward: int, side: int, kernel: int
) -> Call:
    """Upsample [batch, inward, side, side] to [batch, outward, 2 side, 2 side], with a kernel of 2
    or 4 and stride 2."""
    x = random(batch, inward, side, side, dtype=dtype)
    w = random(inward, outward, kernel, kernel, dtype=dtype)
    padding = (kernel - 2) // 2
    return lambda: F.conv_transpose2d(x, w, None, 2, padding)
