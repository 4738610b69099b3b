"""Recurrent layers with the sizes that networks have.

`python -m calibration.measure.points.recurrent_layers FILE` writes points of the sweeps `recurrent`
and `recurrent_backward` as JSON lines. `python -m calibration.measure.network_layers LOG --points
FILE --seconds 100` measures their kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from calibration.measure.points.command import command
from calibration.sweeps.registry import Point

_COUNT = 1500
_WIDTHS = (16, 32, 50, 64, 64, 96, 100, 128, 128, 150, 192, 200, 256, 256, 300, 320, 384, 512, 512,
           768, 1024)  # fmt: skip
_BATCHES = (1, 2, 4, 8, 16, 16, 32, 32, 64, 64, 100, 128, 256)
_STEPS = (1, 4, 8, 10, 16, 20, 24, 28, 32, 40, 50, 64, 80, 100, 128)
_MOST_STATES = 1 << 22
_TRAINED = 0.5
"""The share of draws whose gradients are measured as well."""


def drawn(seed: int = 0) -> Iterator[Point]:
    """The points; a layer has at most `_MOST_STATES` states over all steps."""
    rng = Random(seed)
    for _ in range(_COUNT):
        hidden, batch, steps = rng.choice(_WIDTHS), rng.choice(_BATCHES), rng.choice(_STEPS)
        while batch > 1 and hidden * batch * steps > _MOST_STATES:
            batch //= 2
        params = {
            "cell": rng.choice(("lstm", "lstm", "gru")),
            "dtype": rng.choice(("fp32", "fp32", "fp16", "bf16")),
            "batch": batch,
            "steps": steps,
            "features": hidden if rng.random() < 0.6 else rng.choice(_WIDTHS),
            "hidden": hidden,
            "layers": rng.choice((1, 1, 1, 2, 3)),
            "both_ways": rng.random() < 0.35,
        }
        yield Point("recurrent", params)
        if rng.random() < _TRAINED:
            yield Point("recurrent_backward", params)


if __name__ == "__main__":
    command(__doc__ or "", drawn())
