"""Random layers with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from calibration.sweeps.registry import Params, Point

_PRECISIONS = ("fp16", "bf16", "fp32")


def layers(
    kinds: Sequence[tuple[str, Callable[[Random], Params]]], count: int, trained: float, seed: int
) -> Iterator[Point]:
    """Points of `count` layers of random kinds (an operation of the sweeps, and what draws its
    parameters); of the share `trained`, the gradients as well."""
    rng = Random(seed)
    for _ in range(count):
        operation, draw = rng.choice(kinds)
        params = {"dtype": rng.choice(_PRECISIONS)} | draw(rng)
        yield Point(operation, params)
        if rng.random() < trained:
            yield Point(f"{operation}_backward", params)
