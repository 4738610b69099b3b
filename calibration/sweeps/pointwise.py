"""Elementwise ops: every arity, broadcast, strided, in place and of mixed dtypes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import dtype, elements, matrix, pick, sweep

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": F.relu,
    "neg": torch.neg,
    "abs": torch.abs,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "erf": torch.erf,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "cos": torch.cos,
    "rsqrt": torch.rsqrt,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "hardswish": F.hardswish,
    "softplus": F.softplus,
}
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "maximum": torch.maximum,
    "less": torch.lt,
    "scaled_add": lambda x, y: torch.add(x, y, alpha=0.5),
}
SCALAR: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add": lambda x: x + 1.5,
    "mul": lambda x: x * 0.125,
    "square": lambda x: x.pow(2),
    "cube": lambda x: x.pow(3.0),
    "clamp": lambda x: x.clamp(-1.0, 1.0),
    "greater": lambda x: x > 0.5,
}
IN_PLACE: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add_": lambda x, y: x.add_(y, alpha=1e-3),
    "copysign_": lambda x, y: x.copysign_(y),
    "lerp_": lambda x, y: x.lerp_(y, 0.1),
    "relu_": lambda x, y: x.relu_(),
    "clamp_": lambda x, y: x.clamp_(-1.0, 1.0),
    "neg_": lambda x, y: x.neg_(),
}
"""Ops that keep their operand within bounds, even if they run many times."""
TERNARY: dict[str, Callable[[Any, Any, Any], torch.Tensor]] = {
    "addcmul": lambda x, y, z: torch.addcmul(x, y, z, value=0.5),
    "addcdiv": lambda x, y, z: torch.addcdiv(x, y, z, value=0.5),
    "lerp": torch.lerp,
}
DERIVED = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "hardswish", "leaky_relu")


def _of(names: dict[str, Any] | tuple[str, ...]) -> Callable[[Random], Params]:
    def draw(rng: Random) -> Params:
        kind = dtype(rng)
        return {"name": rng.choice(list(names)), "dtype": kind, "elements": elements(rng, kind)}

    return draw


@operation(sweep("unary", 180, _of(UNARY)))
def unary(name: str, dtype: str, elements: int) -> Call:
    """An op with one operand."""
    x, function = random(elements, dtype=dtype), UNARY[name]
    return lambda: function(x)


@operation(sweep("binary", 120, _of(BINARY)))
def binary(name: str, dtype: str, elements: int) -> Call:
    """An op with two operands of one shape."""
    x, y, function = random(elements, dtype=dtype), random(elements, dtype=dtype), BINARY[name]
    return lambda: function(x, y)


@operation(sweep("with_scalar", 72, _of(SCALAR)))
def with_scalar(name: str, dtype: str, elements: int) -> Call:
    """An op with a tensor and a Python number."""
    x, function = random(elements, dtype=dtype), SCALAR[name]
    return lambda: function(x)


@operation(sweep("in_place", 60, _of(IN_PLACE)))
def in_place(name: str, dtype: str, elements: int) -> Call:
    """A pointwise op that overwrites its first operand."""
    x, y, function = random(elements, dtype=dtype), random(elements, dtype=dtype), IN_PLACE[name]
    return lambda: function(x, y)


@operation(sweep("ternary", 90, _of(TERNARY)))
def ternary(name: str, dtype: str, elements: int) -> Call:
    """An op with three operands of one shape."""
    x, y, z = (random(elements, dtype=dtype) for _ in range(3))
    function = TERNARY[name]
    return lambda: function(x, y, z)


@operation(
    sweep("where", 60, lambda rng: {"dtype": (d := dtype(rng)), "elements": elements(rng, d)})
)
def where(dtype: str, elements: int) -> Call:
    """A mask chooses between two operands."""
    mask = random(elements, dtype="bool")
    x, y = random(elements, dtype=dtype), random(elements, dtype=dtype)
    return lambda: torch.where(mask, x, y)


@operation(sweep("activation_backward", 90, _of(DERIVED)))
def activation_backward(name: str, dtype: str, elements: int) -> Call:
    """The gradient of an activation's input."""
    x = random(elements, dtype=dtype, grad=True)
    return backward(UNARY[name](x), [x])


def _broadcast(rng: Random) -> Params:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 16, 16384)
    pattern = pick(rng, {"row": 4.0, "column": 3.0, "one": 1.0, "both": 2.0, "channel": 2.0})
    return {
        "name": rng.choice(["add", "mul", "sub", "div"]),
        "dtype": kind,
        "pattern": pattern,
        "rows": rows,
        "cols": cols,
    }


@operation(sweep("broadcast", 120, _broadcast))
def broadcast(name: str, dtype: str, pattern: str, rows: int, cols: int) -> Call:
    """An op on [rows, cols] and a row, a column or a single value. "both" combines a row and a
    column; "channel" a [rows, cols, 8, 8] image and a value for each of its channels."""
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "row": ((rows, cols), (cols,)),
        "column": ((rows, cols), (rows, 1)),
        "one": ((rows, cols), ()),
        "both": ((rows, 1), (1, cols)),
        "channel": ((max(1, rows // 64), cols, 8, 8), (cols, 1, 1)),
    }
    (left, right), function = shapes[pattern], BINARY[name]
    x, y = random(*left, dtype=dtype), random(*right, dtype=dtype)
    return lambda: function(x, y)


def _strided(rng: Random) -> Params:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 16, 8192, 2**28)
    return {
        "name": rng.choice(["add", "mul"]),
        "dtype": kind,
        "rows": rows,
        "cols": cols,
        "layout": rng.choice(["transposed", "sliced", "halves", "alike"]),
    }


@operation(sweep("strided", 160, _strided))
def strided(name: str, dtype: str, rows: int, cols: int, layout: str) -> Call:
    """Two operands [rows, cols]: one is transposed, or a slice of a wider tensor; or they are
    halves of one tensor, as in a gated layer; or both are transposed."""
    wide, function = random(rows, 2 * cols, dtype=dtype), BINARY[name]
    x, y = random(rows, cols, dtype=dtype), random(cols, rows, dtype=dtype).t()
    if layout == "sliced":
        y = wide[:, :cols]
    elif layout == "halves":
        x, y = wide.chunk(2, -1)
    elif layout == "alike":
        x = random(cols, rows, dtype=dtype).t()
    return lambda: function(x, y)


def _mixed(rng: Random) -> Params:
    return {
        "name": rng.choice(["add", "mul"]),
        "left": rng.choice(["bf16", "fp16", "bool"]),
        "elements": elements(rng, "fp32"),
    }


@operation(sweep("mixed", 42, _mixed))
def mixed(name: str, left: str, elements: int) -> Call:
    """An operand of another dtype and one of float32, with a float32 result."""
    x, y, function = random(elements, dtype=left), random(elements, dtype="fp32"), BINARY[name]
    return lambda: function(x, y)
