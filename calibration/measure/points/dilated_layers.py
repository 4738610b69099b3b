"""Dilated convolutions of sounds, series and pictures, and the same ones without dilation.

`python -m calibration.measure.points.dilated_layers FILE` writes points of the sweeps
`layer_convolution` and `layer_convolution_backward` as JSON lines. `python -m
calibration.measure.network_layers LOG --points FILE --seconds 200` measures their kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from calibration.measure.points.command import command
from calibration.sweeps.registry import Point

_COUNT = 280
_PRECISIONS = ("fp16", "bf16", "fp32", "fp32")
_MOST_MULTIPLICATIONS = 4e10
_TRAINED = 0.6
"""The share of draws whose gradients are measured as well."""


def drawn(seed: int = 0) -> Iterator[Point]:
    """The points: a fifth have no dilation."""
    rng = Random(seed)
    for _ in range(_COUNT):
        params = _line(rng) if rng.random() < 0.55 else _picture(rng)
        params = {"dtype": rng.choice(_PRECISIONS)} | params
        yield Point("layer_convolution", params)
        if rng.random() < _TRAINED:
            yield Point("layer_convolution_backward", params)


def _line(rng: Random) -> dict[str, object]:
    """A layer over time, padded on one side before it or on both sides by it."""
    taps = rng.choice((2, 3, 3, 3, 5, 7, 11))
    dilation = 1 if rng.random() < 0.2 else rng.choice((2, 3, 4, 5, 8, 16, 32, 64, 128, 256))
    inputs = rng.choice((16, 32, 64, 96, 128, 192, 256, 512))
    outputs = inputs if rng.random() < 0.6 else rng.choice((32, 64, 128, 256, 512))
    length = rng.choice((256, 500, 512, 1000, 2048, 4096, 8192, 16000))
    batch = rng.choice((1, 4, 8, 16, 32, 64))
    while batch > 1 and batch * length * taps * inputs * outputs > _MOST_MULTIPLICATIONS:
        batch //= 2
    reach = dilation * (taps - 1)
    before = rng.random() < 0.5 or reach % 2 == 1
    return {
        "last": False,
        "image": [batch, inputs, length + (reach if before else 0)],
        "weight": [outputs, inputs, taps],
        "stride": [1],
        "padding": [0 if before else reach // 2],
        "dilation": [dilation],
        "groups": 1,
        "bias": rng.random() < 0.7,
    }


def _picture(rng: Random) -> dict[str, object]:
    """A layer of 3 × 3 taps over a picture, as in networks for segmentation."""
    dilation = 1 if rng.random() < 0.2 else rng.choice((2, 2, 4, 6, 12, 18, 24, 36))
    inputs, outputs = rng.choice((64, 128, 256, 512, 1024, 2048)), rng.choice((64, 128, 256, 512))
    side = rng.choice((24, 28, 32, 33, 48, 56, 64, 65))
    batch = rng.choice((1, 2, 4, 8, 16))
    while batch > 1 and batch * side**2 * 9 * inputs * outputs > _MOST_MULTIPLICATIONS:
        batch //= 2
    return {
        "last": rng.random() < 0.4,
        "image": [batch, inputs, side, side],
        "weight": [outputs, inputs, 3, 3],
        "stride": [1, 1],
        "padding": [dilation, dilation],
        "dilation": [dilation, dilation],
        "groups": 1,
        "bias": rng.random() < 0.4,
    }


if __name__ == "__main__":
    command(__doc__ or "", drawn())
