"""Convolutions with the sizes that layers of networks have.

The other sweeps draw each size on its own, so that few points have small images, many channels and
few images at once, as the last layers of mobile networks do. `calibration.measure.network_layers`
draws the points; a few are registered here.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation

_CONVOLVE = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def _layers() -> list[Params]:
    """Three layers of images (pointwise, depthwise and grouped) and one of sound."""
    one = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1, "bias": False}
    three = one | {"padding": [1, 1]}
    sound = {"stride": [2], "padding": [0], "dilation": [1], "groups": 1, "bias": True}
    rows = (
        ([2, 960, 7, 7], [160, 960, 1, 1], one),
        ([1, 240, 14, 14], [240, 1, 3, 3], three | {"groups": 240}),
        ([2, 256, 14, 14], [256, 64, 3, 3], three | {"groups": 4}),
        ([1, 512, 799], [512, 512, 3], sound),
    )
    return [
        {"dtype": "fp16", "last": False, "image": image, "weight": weight} | rest
        for image, weight, rest in rows
    ]


def _operands(
    dtype: str, last: bool, image: list[int], weight: list[int], bias: bool, grad: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    x, w = random(*image, dtype=dtype, grad=grad), random(*weight, dtype=dtype, grad=grad)
    if last:
        x, w = channels_last(x, grad), channels_last(w, grad)
    return x, w, random(weight[0], dtype=dtype, grad=grad) if bias else None


@operation(_layers)
def layer_convolution(
    dtype: str,
    last: bool,
    image: list[int],
    weight: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    bias: bool,
) -> Call:
    """Convolve an image [batch, channels, *sides] with a weight [outputs, channels of a group,
    *taps]; `last` means channels last in memory."""
    x, w, b = _operands(dtype, last, image, weight, bias, False)
    convolve = _CONVOLVE[len(image) - 2]
    return lambda: convolve(x, w, b, stride, padding, dilation, groups)


@operation(_layers)
def layer_convolution_backward(
    dtype: str,
    last: bool,
    image: list[int],
    weight: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    bias: bool,
) -> Call:
    """Gradients of weights and bias, and of the input unless it is an image of up to 3 channels."""
    x, w, b = _operands(dtype, last, image, weight, bias, True)
    y = _CONVOLVE[len(image) - 2](x, w, b, stride, padding, dilation, groups)
    parameters = [t for t in (w, b) if t is not None]
    return backward(y, parameters if image[1] <= 3 else [x, *parameters])


def _transposed() -> list[Params]:
    """Three layers that enlarge sounds and images."""
    sound = {"stride": [8], "padding": [4], "groups": 1, "bias": True}
    image = {"stride": [2, 2], "padding": [0, 0], "groups": 1, "bias": True}
    rows = (
        ([8, 128, 1024], [128, 64, 16], sound),
        ([4, 256, 16, 16], [256, 128, 2, 2], image),
        ([4, 64, 32, 32], [64, 32, 4, 4], image | {"padding": [1, 1], "bias": False}),
    )
    return [
        {"dtype": "fp16", "last": False, "image": each, "weight": weight} | rest
        for each, weight, rest in rows
    ]


@operation(_transposed)
def layer_transposed(
    dtype: str,
    last: bool,
    image: list[int],
    weight: list[int],
    stride: list[int],
    padding: list[int],
    groups: int,
    bias: bool,
) -> Call:
    """A transposed convolution of an image [batch, channels, *sides] with a weight [channels,
    outputs of a group, *taps]."""
    x, w, b = _transposed_operands(dtype, last, image, weight, groups, bias, False)
    convolve = _TRANSPOSED[len(image) - 2]
    return lambda: convolve(x, w, b, stride, padding, groups=groups)


@operation(_transposed)
def layer_transposed_backward(
    dtype: str,
    last: bool,
    image: list[int],
    weight: list[int],
    stride: list[int],
    padding: list[int],
    groups: int,
    bias: bool,
) -> Call:
    """Gradients of the input, the weight and the bias."""
    x, w, b = _transposed_operands(dtype, last, image, weight, groups, bias, True)
    y = _TRANSPOSED[len(image) - 2](x, w, b, stride, padding, groups=groups)
    return backward(y, [t for t in (x, w, b) if t is not None])


def _transposed_operands(
    dtype: str,
    last: bool,
    image: list[int],
    weight: list[int],
    groups: int,
    bias: bool,
    grad: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    x, w, _ = _operands(dtype, last, image, weight, False, grad)
    return x, w, random(weight[1] * groups, dtype=dtype, grad=grad) if bias else None
