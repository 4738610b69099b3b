"""How a function is described, and the sizes of its operand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any, Literal

import torch
from torch import Tensor

from calibration.sweeps.operands import channels_last, random
from calibration.sweeps.registry import Params
from calibration.sweeps.shapes import matrix, rounded, whole, width

MOST_ELEMENTS = 2**25
Shape = Literal["any", "rows", "square", "images", "volumes", "points"]
Values = Literal["normal", "unit", "positive"]
Operands = Callable[[Tensor], tuple[Any, ...]]
FLOATS = ("fp32", "fp32", "bf16", "fp16")


def nothing(x: Tensor) -> tuple[Any, ...]:
    """No further operands."""
    return ()


@dataclass(frozen=True)
class Function:
    """A function of one random operand, and of further ones that `operands` makes for it."""

    call: Callable[..., Any]
    shape: Shape = "any"
    operands: Operands = nothing
    values: Values = "normal"
    dtypes: tuple[str, ...] = FLOATS
    gradient: bool = True
    most_elements: int = MOST_ELEMENTS


def _any(rng: Random) -> list[int]:
    dims = rng.choice((1, 2, 2, 3, 4))
    total = whole(rng, 2**12, MOST_ELEMENTS)
    shares = [rng.expovariate(1) for _ in range(dims)]
    return [max(1, round(total ** (each / sum(shares)))) for each in shares]


def _rows(rng: Random) -> list[int]:
    return list(matrix(rng, "fp32", 16, 16384, 4 * MOST_ELEMENTS))


def _square(rng: Random) -> list[int]:
    batch = 1 if rng.random() < 0.3 else whole(rng, 2, 1024)
    return [batch, *[width(rng, 8, 2048)] * 2]


def _images(rng: Random) -> list[int]:
    channels = rng.choice((1, 3, 8, 16, 32, 64, 128, 256, 512))
    side = rng.choice((8, 14, 16, 28, 32, 56, 64, 112, 128, 224, 256))
    return [rng.choice((1, 2, 4, 8, 16, 32, 64)), channels, side, side]


def _volumes(rng: Random) -> list[int]:
    channels, side = rng.choice((1, 4, 16, 32, 64, 128)), rng.choice((8, 16, 32, 48, 64, 96))
    return [rng.choice((1, 2, 4, 8)), channels, side, side, side]


def _points(rng: Random) -> list[int]:
    """Points of one space: [batch, number, coordinates]."""
    number = rounded(rng, whole(rng, 64, 4096))
    return [rng.choice((1, 1, 4, 16)), number, rng.choice((2, 3, 16, 64, 128, 512))]


_SIZES: dict[Shape, Callable[[Random], list[int]]] = {
    "any": _any,
    "rows": _rows,
    "square": _square,
    "images": _images,
    "volumes": _volumes,
    "points": _points,
}


def drawn(rng: Random, functions: dict[str, Function]) -> Params | None:
    """One of the functions with a dtype and sizes; None if the sizes are too large or too small."""
    name = rng.choice(list(functions))
    function = functions[name]
    sizes = _SIZES[function.shape](rng)
    if not 2**10 <= prod(sizes) <= function.most_elements:
        return None
    last = function.shape == "images" and rng.random() < 0.25
    return {"name": name, "dtype": rng.choice(function.dtypes), "sizes": sizes, "last": last}


def operand(function: Function, dtype: str, sizes: list[int], last: bool, grad: bool) -> Tensor:
    """The function's random operand; with `last`, its channels are innermost in memory."""
    x = random(*sizes, dtype=dtype)
    if function.values == "unit":
        x = torch.rand(sizes).clamp(0.01, 0.99).to(x.dtype)
    elif function.values == "positive":
        x = x.abs() + 0.1
    return channels_last(x, grad) if last else x.requires_grad_(grad)


def alike(x: Tensor) -> tuple[Tensor, ...]:
    """A second operand with the same sizes and kind of values."""
    if not x.is_floating_point():
        return (torch.randint_like(x, 1, 100),)
    return (torch.randn_like(x),)


def positive_alike(x: Tensor) -> tuple[Tensor, ...]:
    """A second operand of positive numbers."""
    return (torch.rand_like(x) + 0.1,)


def positions(below_dim: int = 0, count: int | None = None) -> Operands:
    """Random positions along a dimension: as many as it has, or `count`."""

    def make(x: Tensor) -> tuple[Tensor, ...]:
        size = x.shape[below_dim]
        return (torch.randint(0, size, (size if count is None else count,)),)

    return make


def mask(x: Tensor) -> tuple[Tensor, ...]:
    """A mask of x's sizes, half of whose elements are true."""
    return (random(*x.shape, dtype="bool"),)
