"""Recurrent layers that are seldom among those of `recurrent_layers`: plain ones without gates, and
LSTM layers in float16 that are one kernel on all multiprocessors.

`python -m calibration.measure.points.recurrent_cells FILE` writes points of the sweeps `recurrent`
and `recurrent_backward` as JSON lines. `python -m calibration.measure.network_layers LOG --points
FILE --seconds 60` measures their kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from calibration.measure.points.command import command
from calibration.sweeps.registry import Point

_COUNT = 500
_WIDTHS = (32, 64, 100, 128, 200, 256, 300, 512, 1024)
_TILES = (256, 256, 384, 512, 512, 640, 768, 1024, 1024, 1536)
_STEPS = (1, 4, 10, 16, 20, 28, 32, 50, 64, 100, 128)
_MOST_STATES = 1 << 22
_TRAINED = 0.6
"""The share of draws whose gradients are measured as well."""


def drawn(seed: int = 0) -> Iterator[Point]:
    """The points; a layer has at most `_MOST_STATES` states over all steps."""
    rng = Random(seed)
    for _ in range(_COUNT):
        spread = rng.random() < 0.5
        hidden, steps = rng.choice(_TILES if spread else _WIDTHS), rng.choice(_STEPS)
        batch = rng.choice((8, 16, 24, 32, 64, 128, 256) if spread else (1, 4, 16, 32, 64, 128))
        while batch > 8 and hidden * batch * steps > _MOST_STATES:
            batch //= 2
        features = hidden if rng.random() < 0.5 else rng.choice((32, 64, 96, 128, 256, 320, 512))
        params = {
            "cell": "lstm" if spread else "rnn",
            "dtype": "fp16" if spread else rng.choice(("fp32", "fp16")),
            "batch": batch,
            "steps": steps,
            "features": features,
            "hidden": hidden,
            "layers": 1 if spread else rng.choice((1, 1, 2)),
            "both_ways": not spread and rng.random() < 0.25,
        }
        yield Point("recurrent", params)
        if rng.random() < _TRAINED:
            yield Point("recurrent_backward", params)


if __name__ == "__main__":
    command(__doc__ or "", drawn())
