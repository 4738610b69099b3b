"""Sizes, layouts and operands of blind calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from random import Random

from torch import Tensor

from calibration.sweeps.operands import channels_last, random
from calibration.sweeps.registry import Call, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, Draw, real, sweep, whole

LAYOUTS = {"contiguous": 5.0, "transposed": 2.0, "slice": 2.0, "offset": 1.0}
"""Sampling weights of the memory layouts (see `laid`) for operands with two or more dimensions."""


def blind(count: int, draw: Draw) -> Callable[[Callable[..., Call]], Callable[..., Call]]:
    """Register a kind of call under its function's name, with `count` points."""

    def decorate(make: Callable[..., Call]) -> Callable[..., Call]:
        return operation(sweep(f"blind {make.__name__}", count, draw), kind="blind")(make)

    return decorate


def size(rng: Random, low: int, high: int) -> int:
    """A log-uniform size: with equal probability unchanged, rounded to a multiple of 8, or rounded
    to a multiple of 64. Sizes below the multiple stay unchanged."""
    number, step = whole(rng, low, high), rng.choice([1, 8, 64])
    return max(step, round(number / step) * step) if number >= step else number


def shape(rng: Random, dims: int, dtype: str, least: float = 256) -> list[int] | None:
    """`dims` sizes with a log-uniform product of `least` to half the largest tensor; None if the
    drawn product exceeds the largest tensor."""
    total = real(rng, least, LARGEST_BYTES / 2 / ITEM_BYTES[dtype])
    logs = [rng.expovariate(1) for _ in range(dims)]
    sizes = [max(1, round(total ** (each / sum(logs)))) for each in logs]
    sizes[-1] = size(rng, sizes[-1], sizes[-1] + 8)
    return sizes if prod(sizes) * ITEM_BYTES[dtype] <= LARGEST_BYTES else None


def laid(sizes: list[int], dtype: str, layout: str, grad: bool = False) -> Tensor:
    """A leaf tensor of random numbers in a memory layout: "contiguous", "channels_last" or
    "transposed" (the last two dimensions are swapped in memory). "slice" takes the first half of
    rows twice as wide; "offset" skips the first number of rows one number wider."""
    *outer, last = sizes
    make: Callable[..., Tensor] = partial(random, dtype=dtype)
    if layout == "transposed":
        tensor = make(*outer[:-1], last, outer[-1]).transpose(-1, -2)
    elif layout == "slice":
        tensor = make(*outer, 2 * last)[..., :last]
    elif layout == "offset":
        tensor = make(*outer, last + 1)[..., 1:]
    elif layout == "channels_last":
        tensor = channels_last(make(*sizes))
    else:
        tensor = make(*sizes)
    return tensor.detach().requires_grad_(grad)
