"""Random layers with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from calibration.sweeps.registry import Params, Point

Kind = tuple[str, Callable[[Random], Params]]
"""An operation of the sweeps, and the function that draws its parameters."""
_PRECISIONS = ("fp16", "bf16", "fp32")


def layers(kinds: Sequence[Kind], count: int, trained: float, seed: int) -> Iterator[Point]:
    """Points of `count` layers of random kinds; of the share `trained`, the gradients as well."""
    rng = Random(seed)
    for _ in range(count):
        operation, draw = rng.choice(kinds)
        params = {"dtype": rng.choice(_PRECISIONS)} | draw(rng)
        yield Point(operation, params)
        if rng.random() < trained:
            yield Point(f"{operation}_backward", params)


def layer(
    image: list[int],
    weight: list[int],
    stride: list[int],
    padding: list[int],
    groups: int,
    last: bool,
    bias: bool,
) -> Params:
    """A convolution of an image [batch, channels, *sides] with a weight [outputs, channels of a
    group, *taps], without dilation; `last` means channels last in memory."""
    return {
        "last": last,
        "image": image,
        "weight": weight,
        "stride": stride,
        "padding": padding,
        "dilation": [1] * len(stride),
        "groups": groups,
        "bias": bias,
    }
