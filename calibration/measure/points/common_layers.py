"""Convolutions of kinds other than plain ones, with sizes that most networks have: first layers and
patches, layers over time, transposed layers, depthwise and grouped layers, and volumes.

`python -m calibration.measure.points.common_layers FILE` writes points of the sweeps
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

_COUNT = 16_000
_WIDTHS = (16, 32, 32, 64, 64, 64, 96, 128, 128, 192, 256, 256, 384, 512)
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
_SIDES = (4, 7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 256)
_LENGTHS = (50, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 8192, 16000)
_MOST_MULTIPLICATIONS = 3e10
_MOST_ELEMENTS = 6e7
_TRAINED = 0.5
"""The share of draws whose gradients are measured as well."""


def drawn(seed: int = 0) -> Iterator[Point]:
    """The points, in random order of their kinds."""
    kinds: tuple[Kind, ...] = (
        ("layer_convolution", _first),
        ("layer_convolution", _over_time),
        ("layer_transposed", _transposed),
        ("layer_convolution", _depthwise),
        ("layer_convolution", _grouped),
        ("layer_convolution", _volume),
    )
    return layers(kinds, _COUNT, _TRAINED, seed)


def _layer(
    rng: Random,
    inputs: int,
    outputs: int,
    sides: list[int],
    taps: list[int],
    stride: list[int],
    padding: list[int],
    groups: int = 1,
) -> Params:
    """A layer with a batch that keeps it small enough; a fifth of the images are channels-last."""
    work = prod(sides) * prod(taps) * inputs * outputs // groups // prod(stride)
    size = prod(sides) * max(inputs, outputs)
    most = min(_MOST_MULTIPLICATIONS / max(work, 1), _MOST_ELEMENTS / size)
    batch = rng.choice([each for each in _BATCHES if each <= most] or [1])
    image, weight = [batch, inputs, *sides], [outputs, inputs // groups, *taps]
    last = len(sides) == 2 and rng.random() < 0.2
    return layer(image, weight, stride, padding, groups, last, rng.random() < 0.6)


def _first(rng: Random) -> Params:
    """The first layer of an image: a stem, or patches without overlap."""
    inputs = rng.choice((1, 2, 3, 3, 3, 4, 6, 12))
    outputs = rng.choice(_WIDTHS)
    side = rng.choice((28, 32, 64, 96, 112, 128, 224, 224, 256))
    if rng.random() < 0.35:
        taps = rng.choice([t for t in (2, 4, 4, 7, 8, 14, 16, 16, 32) if t < side])
        stride, padding = taps, 0
    else:
        taps = rng.choice((3, 3, 3, 4, 5, 7, 7))
        stride, padding = rng.choice((1, 2)), taps // 2
    return _layer(rng, inputs, outputs, [side] * 2, [taps] * 2, [stride] * 2, [padding] * 2)


def _over_time(rng: Random) -> Params:
    """A layer over time."""
    taps = rng.choice((1, 3, 3, 3, 5, 7))
    inputs, outputs = rng.choice(_WIDTHS), rng.choice(_WIDTHS)
    if rng.random() < 0.5:
        outputs = inputs
    elif rng.random() < 0.2:
        inputs = rng.choice((1, 2, 12, 80))
    stride = 2 if taps > 1 and rng.random() < 0.15 else 1
    return _layer(rng, inputs, outputs, [rng.choice(_LENGTHS)], [taps], [stride], [taps // 2])


def _transposed(rng: Random) -> Params:
    """A layer that doubles an image, or the first one of a generator."""
    taps, padding = rng.choice(((2, 0), (4, 1)))
    inputs, side, stride = rng.choice(_WIDTHS), rng.choice(_SIDES[:-1]), 2
    outputs = rng.choice((inputs // 2, inputs // 2, inputs, 1, 3, rng.choice(_WIDTHS)))
    if rng.random() < 0.1:
        inputs, outputs = rng.choice((64, 100, 128)), rng.choice((256, 512, 1024))
        taps, padding, side, stride = 4, 0, 1, 1
    params = _layer(
        rng, inputs, outputs, [side] * 2, [taps] * 2, [stride] * 2, [padding] * 2
    )  # fmt: skip
    del params["dilation"]
    return params | {"weight": [inputs, outputs, taps, taps]}


def _depthwise(rng: Random) -> Params:
    """One group per channel, in images and over time."""
    width = rng.choice((16, 24, 32, 48, 64, 96, 96, 128, 144, 192, 240, 256, 288, 384, 480, 512,
                        576, 672, 768, 960, 1024, 1152))  # fmt: skip
    taps, stride = rng.choice((3, 3, 3, 5, 5, 7)), 2 if rng.random() < 0.2 else 1
    dims = 1 if rng.random() < 0.15 else 2
    side = rng.choice(_LENGTHS if dims == 1 else _SIDES[1:-1])
    every = [[side], [taps], [stride], [taps // 2]]
    return _layer(rng, width, width, *(each * dims for each in every), groups=width)


def _grouped(rng: Random) -> Params:
    """Groups of several channels."""
    inward, groups = rng.choice((4, 8, 8, 16, 16, 32, 64)), rng.choice((2, 4, 8, 16, 32))
    taps, stride = rng.choice((1, 3, 3, 3, 3)), 2 if rng.random() < 0.2 else 1
    width = inward * groups
    outputs = width if rng.random() < 0.8 else 2 * width
    side = rng.choice(_SIDES[1:-1])
    return _layer(
        rng, width, outputs, [side] * 2, [taps] * 2, [stride] * 2, [taps // 2] * 2, groups
    )


def _volume(rng: Random) -> Params:
    """A volume or a video."""
    taps = rng.choice(((3, 3, 3), (3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1)))
    inputs, outputs = rng.choice((1, 3, 16, 32, 32, 64, 64, 128, 256)), rng.choice(_WIDTHS)
    stride = 2 if prod(taps) == 27 and rng.random() < 0.2 else 1
    sides = rng.choice(([8] * 3, [16] * 3, [32] * 3, [48] * 3, [64] * 3, [96] * 3, [4, 28, 28],
                        [8, 28, 28], [8, 56, 56], [16, 56, 56], [16, 112, 112]))  # fmt: skip
    padding = [tap // 2 for tap in taps]
    return _layer(rng, inputs, outputs, list(sides), list(taps), [stride] * 3, padding)


if __name__ == "__main__":
    command(__doc__ or "", drawn())
