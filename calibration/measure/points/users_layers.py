"""Convolutions that users write and that other draws have seldom: layers over time, transposed
layers, groups of channels, odd numbers of channels, and 3-D layers split into space and time.

`python -m calibration.measure.points.users_layers FILE` writes points of the sweeps
`layer_convolution` and `layer_transposed`, and of their gradients, as JSON lines. `python -m
calibration.measure.network_layers LOG --points FILE --seconds 300` measures their kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from random import Random

from calibration.measure.points.command import command
from calibration.measure.points.layers import Kind, layer, layers
from calibration.sweeps.registry import Params, Point

_COUNT = 6000
_MOST_MULTIPLICATIONS = 3e10
_MOST_ELEMENTS = 1e8
_TRAINED = 0.6
"""The share of draws whose gradients are measured as well."""


def drawn(seed: int = 0) -> Iterator[Point]:
    """The points, in random order of their kinds."""
    kinds: tuple[Kind, ...] = (
        ("layer_convolution", _over_time),
        ("layer_convolution", _over_time),
        ("layer_transposed", _transposed),
        ("layer_transposed", _transposed),
        ("layer_convolution", _grouped),
        ("layer_convolution", _odd),
        ("layer_convolution", _factored),
    )
    return layers(kinds, _COUNT, _TRAINED, seed)


def _layer(
    rng: Random,
    inputs: int,
    outputs: int,
    sides: list[int],
    taps: list[int],
    stride: int = 1,
    groups: int = 1,
    last: bool = False,
) -> Params:
    """A layer with the largest batch drawn that keeps it small enough."""
    batch = rng.choice((1, 2, 4, 8, 16, 32, 64))
    work = prod(sides) * prod(taps) * inputs * outputs // groups // stride ** len(sides)
    size = prod(sides) * max(inputs, outputs)
    while batch > 1 and (batch * work > _MOST_MULTIPLICATIONS or batch * size > _MOST_ELEMENTS):
        batch //= 2
    image, weight = [batch, inputs, *sides], [outputs, inputs // groups, *taps]
    strides, padding = [stride] * len(sides), [tap // 2 for tap in taps]
    return layer(image, weight, strides, padding, groups, last, rng.random() < 0.6)


def _width(rng: Random) -> int:
    return rng.choice((16, 32, 64, 80, 96, 128, 192, 256, 384, 512, 768, 1024))


def _over_time(rng: Random) -> Params:
    """A layer over time, also the first one (raw sound, features) and the last one."""
    taps = rng.choice((1, 2, 3, 3, 3, 4, 5, 5, 7, 7, 9, 11, 15))
    stride = rng.choice((1, 1, 1, 1, 2, 2, 4, 5)) if taps > 1 else 1
    inputs = rng.choice((1, 2, 12, 40)) if rng.random() < 0.1 else _width(rng)
    outputs = _width(rng)
    if rng.random() < 0.5 and inputs >= 16:
        outputs = inputs
    elif rng.random() < 0.1:
        outputs = rng.choice((1, 2, 10))
    length = rng.choice((50, 64, 100, 128, 250, 256, 500, 512, 1000, 1024, 2048, 4096, 8192, 16384,
                         32768, 65536))  # fmt: skip
    return _layer(rng, inputs, outputs, [length], [taps], stride)


def _transposed(rng: Random) -> Params:
    """A layer that enlarges a sound, an image or a volume by its stride."""
    dims = rng.choice((1, 1, 2, 2, 2, 3))
    stride = rng.choice((2, 2, 2, 4, 5, 8) if dims == 1 else (2, 2, 2, 2, 4, 1))
    taps = rng.choice((stride, stride, 2 * stride, 2 * stride, stride + 1 + stride % 2))
    inputs = _width(rng)
    outputs = inputs // 2 if rng.random() < 0.6 else rng.choice((1, 3, 32, 64, 128, 256))
    sides = {
        1: [rng.choice((32, 64, 128, 256, 512, 1000, 2048, 4096, 8192))],
        2: [rng.choice((1, 4, 7, 8, 14, 16, 28, 32, 56, 64, 128))] * 2,
        3: [rng.choice((4, 8, 16, 24))] * 3,
    }[dims]
    last = dims == 2 and rng.random() < 0.3
    params = _layer(rng, inputs, outputs, sides, [taps] * dims, last=last)
    del params["dilation"]
    more = {"weight": [inputs, outputs] + [taps] * dims, "stride": [stride] * dims}
    return params | more | {"padding": [(taps - stride) // 2 if taps > stride else 0] * dims}


def _grouped(rng: Random) -> Params:
    """Groups of channels, also one group per image whose weights a network computes."""
    groups = rng.choice((2, 4, 8, 16, 32, 64))
    inward = rng.choice((2, 4, 8, 16, 32, 64, 128, 256))
    outward = inward if rng.random() < 0.7 else rng.choice((8, 16, 32, 64, 128, 256))
    taps = rng.choice((1, 3, 3, 3, 5))
    side = rng.choice((7, 8, 14, 16, 28, 32, 56, 64, 112))
    stride = 2 if rng.random() < 0.15 else 1
    last = rng.random() < 0.25
    sides, squares = [side] * 2, [taps] * 2
    return _layer(rng, groups * inward, groups * outward, sides, squares, stride, groups, last)


def _odd(rng: Random) -> Params:
    """An image with numbers of channels that are no multiple of 16, or with large squares."""
    inputs = rng.choice((1, 2, 3, 4, 5, 6, 9, 12, 17, 20, 33, 50, 65, 67, 100, 130, 145, 196, 259))
    outputs = rng.choice((1, 2, 3, 4, 10, 21, 30, 32, 50, 64, 81, 100, 128, 255, 256))
    taps = rng.choice((1, 3, 3, 3, 5, 7))
    if rng.random() < 0.3:
        inputs, outputs, taps = _width(rng), _width(rng), rng.choice((5, 5, 7))
    side = rng.choice((7, 14, 16, 28, 32, 40, 56, 64, 96, 128, 224))
    stride = 2 if rng.random() < 0.2 else 1
    last = rng.random() < 0.25
    return _layer(rng, inputs, outputs, [side] * 2, [taps] * 2, stride, last=last)


def _factored(rng: Random) -> Params:
    """A volume or video: a full layer, or one over space or over time."""
    taps: tuple[int, ...] = rng.choice(
        ((3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 7, 7), (1, 1, 1), (2, 2, 2))
    )
    inputs, outputs = (
        rng.choice((1, 3, 16, 32, 45, 64, 128, 256)),
        rng.choice((16, 32, 64, 128, 256)),
    )
    side = rng.choice((8, 14, 16, 28, 32, 56, 64))
    return _layer(rng, inputs, outputs, [rng.choice((4, 8, 16, 32)), side, side], list(taps))


if __name__ == "__main__":
    command(__doc__ or "", drawn())
