"""Convolutions with channels that are not multiples of 8, with few images, or first in a
network."""

from __future__ import annotations

from random import Random

from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, sweep, whole, width
from calibration.sweeps.spatial.convolutions import MOST_FLOPS, convolution, convolution_backward


def _fits(
    kind: str, batch: int, inward: int, outward: int, side: int, kernel: int, stride: int
) -> bool:
    elements = batch * (side // stride) ** 2
    flops = 2.0 * elements * outward * inward * kernel**2
    largest = max(batch * side**2 * inward, elements * outward) * ITEM_BYTES[kind]
    return flops <= MOST_FLOPS[kind] / 4 and largest <= LARGEST_BYTES // 2


def _uneven(rng: Random) -> Params | None:
    kind = dtype(rng)
    inward, outward = (whole(rng, 5, 768) for _ in range(2))
    if rng.random() < 0.5:  # one of the two widths is a multiple of 8
        outward = width(rng, 16, 768, 32)
        if rng.random() < 0.5:
            inward, outward = outward, inward
    kernel, stride = int(pick(rng, {"1": 3.0, "3": 5.0, "5": 1.0, "7": 2.0})), rng.choice([1, 1, 2])
    batch, side = whole(rng, 1, 64), whole(rng, 7, 192)
    if side < kernel or not _fits(kind, batch, inward, outward, side, kernel, stride):
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.6,
        "batch": batch,
        "inward": inward,
        "outward": outward,
        "side": side,
        "kernel": kernel,
        "stride": stride,
    }


@operation(sweep("uneven_convolution", 200, _uneven))
def uneven_convolution(
    dtype: str,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    stride: int,
) -> Call:
    """Convolve [batch, inward, side, side] to `outward` channels, mostly not multiples of 8."""
    return convolution(dtype, 2, last, batch, inward, outward, side, kernel, stride, 1, False)


@operation(sweep("uneven_convolution_backward", 140, _uneven))
def uneven_convolution_backward(
    dtype: str,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    stride: int,
) -> Call:
    """Gradients of the input and the weights."""
    return convolution_backward(
        dtype, 2, last, batch, inward, outward, side, kernel, stride, 1, False
    )


def _few(rng: Random) -> Params | None:
    kind = dtype(rng)
    inward, outward = width(rng, 16, 1024, 32), width(rng, 16, 1024, 32)
    kernel, stride = int(pick(rng, {"1": 3.0, "3": 4.0, "7": 3.0})), rng.choice([1, 1, 2])
    batch, side = rng.choice([1, 1, 2, 4]), whole(rng, 7, 224)
    if side < kernel or not _fits(kind, batch, inward, outward, side, kernel, stride):
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.5,
        "batch": batch,
        "inward": inward,
        "outward": outward,
        "side": side,
        "kernel": kernel,
        "stride": stride,
    }


@operation(sweep("few_images", 130, _few))
def few_images(
    dtype: str,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    stride: int,
) -> Call:
    """Convolve one to four images [inward, side, side] to `outward` channels."""
    return convolution(dtype, 2, last, batch, inward, outward, side, kernel, stride, 1, False)


def _stem(rng: Random) -> Params | None:
    kind = pick(rng, {"fp16": 1.0, "bf16": 1.0, "fp32": 1.0})
    inward, outward = rng.choice([3, 3, 3, 1, 4]), rng.choice([16, 24, 32, 64, 64, 96, 128])
    kernel, stride = rng.choice([(7, 1), (7, 2), (7, 2), (3, 1), (3, 2), (5, 1), (11, 4), (4, 4)])
    batch, side = whole(rng, 1, 128), rng.choice([96, 128, 160, 192, 224, 224, 256, 299, 384])
    if not _fits(kind, batch, inward, outward, side, kernel, stride):
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.4,
        "batch": batch,
        "inward": inward,
        "outward": outward,
        "side": side,
        "kernel": kernel,
        "stride": stride,
    }


@operation(sweep("stem", 170, _stem))
def stem(
    dtype: str,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    stride: int,
) -> Call:
    """The first convolution of a network, on images of one to four channels."""
    return convolution(dtype, 2, last, batch, inward, outward, side, kernel, stride, 1, False)


@operation(sweep("stem_backward", 70, _stem))
def stem_backward(
    dtype: str,
    last: bool,
    batch: int,
    inward: int,
    outward: int,
    side: int,
    kernel: int,
    stride: int,
) -> Call:
    """The gradient of the weights of a first convolution, and that of the image if it has four
    channels."""
    return convolution_backward(
        dtype, 2, last, batch, inward, outward, side, kernel, stride, 1, False
    )
