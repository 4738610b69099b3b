"""Products of many rows and few columns: each pixel of a batch of images, or each sample of many
rays, through a narrow layer.

`python -m calibration.measure.points.tall_products FILE` writes the points of the sweeps `linear`
and `product` (gradients) as JSON lines. `python -m calibration.measure.network_layers LOG --points
FILE --seconds 200` measures their kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from calibration.measure.points.command import command
from calibration.sweeps.registry import Point

_COUNT = 900
_WIDTHS = (16, 24, 32, 48, 64, 80, 96, 128, 144, 160, 192, 256, 288, 320, 384, 512, 576, 768)
_SIDES = (14, 28, 32, 48, 56, 64, 96, 112, 128)
_PRECISIONS = ("fp16", "bf16", "bf16", "fp16", "tf32", "fp32")
_MOST_ELEMENTS = 3e8
_LEAST_ROWS = 16384
_TRAINED = 0.4
"""The share of draws whose gradients are measured as well."""


def drawn(seed: int = 0) -> Iterator[Point]:
    """The points; rows are pixels of images, or any multiple of 64."""
    rng = Random(seed)
    for _ in range(_COUNT):
        dtype = rng.choice(_PRECISIONS)
        inputs, outputs = rng.choice(_WIDTHS), rng.choice(_WIDTHS)
        most = int(_MOST_ELEMENTS / max(inputs, outputs))
        rows = min(_rows(rng), most)
        shape = {"m": rows, "n": outputs, "k": inputs, "bias": rng.random() < 0.7}
        yield Point("linear", {"dtype": dtype} | shape)
        if rng.random() < _TRAINED:
            of_input = {"layout": "nn", "m": rows, "n": inputs, "k": outputs}
            of_weight = {"layout": "tn", "m": outputs, "n": inputs, "k": rows}
            for params in (of_input, of_weight):
                yield Point("product", {"dtype": dtype} | params)


def _rows(rng: Random) -> int:
    if rng.random() < 0.3:
        return 64 * round(2 ** rng.uniform(8, 14.5))
    side = rng.choice(_SIDES)
    images = -(-_LEAST_ROWS // side**2) * rng.choice((1, 2, 3, 4, 8, 16))
    return images * side**2


if __name__ == "__main__":
    command(__doc__ or "", drawn())
