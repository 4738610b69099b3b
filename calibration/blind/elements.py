"""Elementwise ops: operands of any rank, layout and broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.blind.draws import LAYOUTS, blind, laid, shape
from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import dtype, pick

UNARY: dict[str, Callable[[Any], Tensor]] = {
    "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid, "exp": torch.exp,
    "tanh": torch.tanh, "mish": F.mish, "elu": F.elu, "sin": torch.sin, "atan": torch.atan,
    "sign": torch.sign, "floor": torch.floor, "isnan": torch.isnan, "expm1": torch.expm1,
    "reciprocal": torch.reciprocal, "log1p of the square": lambda x: torch.log1p(x * x),
    "hardtanh": F.hardtanh, "not": torch.logical_not, "square": torch.square,
    "clamp": lambda x: x.clamp(min=0.1), "power": lambda x: x**3, "less": lambda x: x < 0,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "maximum": torch.maximum, "eq": torch.eq, "atan2": torch.atan2, "minimum": torch.minimum,
    "add_scaled": lambda x, y: torch.add(x, y, alpha=0.3), "fmod": torch.fmod,
}  # fmt: skip
DERIVED = ("relu", "gelu", "silu", "sigmoid", "exp", "tanh", "mish", "elu", "hardtanh")


def _of(names: list[str]) -> Callable[[Random], Params | None]:
    def draw(rng: Random) -> Params | None:
        kind, dims = dtype(rng), rng.choice([2, 3, 4])
        sizes, layout = shape(rng, dims, kind), pick(rng, LAYOUTS)
        name = rng.choice(names)
        if sizes is None:
            return None
        return {"name": name, "dtype": kind, "sizes": sizes, "layout": layout}

    return draw


@blind(32, _of(list(UNARY)))
def blind_unary(name: str, dtype: str, sizes: list[int], layout: str) -> Call:
    """An op with one operand."""
    x, function = laid(sizes, dtype, layout), UNARY[name]
    return lambda: function(x)


@blind(14, _of(list(DERIVED)))
def blind_unary_backward(name: str, dtype: str, sizes: list[int], layout: str) -> Call:
    """The gradient of the operand."""
    x = laid(sizes, dtype, layout, grad=True)
    return backward(UNARY[name](x), [x])


def _pair(rng: Random) -> Params | None:
    point = _of(list(BINARY))(rng)
    if point is None:
        return None
    sizes: list[int] = point["sizes"]
    other = [n if rng.random() < 0.7 else 1 for n in sizes][rng.choice([0, 0, 1]) :]
    return {**point, "other": other, "mixed": rng.random() < 0.15}


@blind(40, _pair)
def blind_binary(
    name: str, dtype: str, sizes: list[int], layout: str, other: list[int], mixed: bool
) -> Call:
    """An op with two operands. The second is broadcast along its dimensions of size 1, and is in
    fp32 if `mixed`."""
    x, y = laid(sizes, dtype, layout), random(*other, dtype="fp32" if mixed else dtype)
    function = BINARY[name]
    return lambda: function(x, y)


TERNARY: dict[str, Callable[[Any, Any, Any], Tensor]] = {
    "where": lambda x, y, z: torch.where(z > 0, x, y),
    "addcmul": torch.addcmul,
    "lerp": torch.lerp,
    "masked_fill": lambda x, y, z: x.masked_fill(z > 0, -1.0),
}


@blind(14, _of(list(TERNARY)))
def blind_ternary(name: str, dtype: str, sizes: list[int], layout: str) -> Call:
    """An op with three operands; the third is one row."""
    x, y = laid(sizes, dtype, layout), random(*sizes, dtype=dtype)
    z, function = random(sizes[-1], dtype=dtype), TERNARY[name]
    return lambda: function(x, y, z)
