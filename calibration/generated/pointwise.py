"""Loops over elements: chains of cheap and of expensive ops, conversions, broadcasts, many
operands."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.generated.compiled import compiled, generated, points
from calibration.sweeps.operands import DTYPES, random
from calibration.sweeps.registry import Call, Params

SIZES = [2**12, 30_000, 2**16, 200_000, 2**19, 1_500_000, 2**22, 3 * 2**21, 2**24, 2**26]
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "exp": torch.exp,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "log": lambda x: torch.log(x.abs() + 1),
    "rsqrt": lambda x: torch.rsqrt(x * x + 1e-6),
    "reciprocal": lambda x: 1 / (x * x + 1),
    "sin": torch.sin,
    "softplus": F.softplus,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "pow": lambda x: torch.pow(x.abs() + 1, 1.7),
}


def _each_function() -> list[Params]:
    return [
        {"name": name, "dtype": dtype, "size": size}
        for name in FUNCTIONS
        for dtype, size in (
            ("bf16", 2**12),
            ("bf16", 2**20),
            ("bf16", 2**25),
            ("fp32", 2**21),
            ("fp32", 100_000),
            ("bf16", 6_000_000),
        )
    ]


@generated(_each_function)
def generated_unary(name: str, dtype: str, size: int) -> Call:
    """One function applied to `size` numbers."""
    function = FUNCTIONS[name]
    return compiled(lambda x: function(x), [random(size, dtype=dtype)])


def _chains(sizes: tuple[int, ...]) -> list[Params]:
    return [
        *({"dtype": "fp32", "size": size, "ops": ops} for size in sizes for ops in (1, 8, 32)),
        *({"dtype": "bf16", "size": 2**24, "ops": ops} for ops in (2, 4, 16)),
    ]


@generated(lambda: _chains((2**12, 60_000, 2**18, 2**20, 2**22, 2**24, 2**26)))
def generated_cheap_chain(dtype: str, size: int, ops: int) -> Call:
    """Multiply and add in turn."""

    def chain(x: Tensor) -> Tensor:
        for op in range(ops):
            x = x + 0.3 if op % 2 else x * 0.9
        return x

    return compiled(chain, [random(size, dtype=dtype)])


@generated(lambda: _chains((2**12, 60_000, 2**18, 2**21, 2**23)))
def generated_dear_chain(dtype: str, size: int, ops: int) -> Call:
    """A chain of sigmoids."""

    def chain(x: Tensor) -> Tensor:
        for _ in range(ops):
            x = torch.sigmoid(x)
        return x

    return compiled(chain, [random(size, dtype=dtype)])


@generated(lambda: points({"size": size} for size in SIZES))
def generated_add(dtype: str, size: int) -> Call:
    """The sum of two tensors, then a ReLU."""
    return compiled(lambda x, y: torch.relu(x + y), [random(size, dtype=dtype) for _ in range(2)])


@generated(lambda: points({"size": size, "operands": 6} for size in SIZES[1:]))
def generated_many_operands(dtype: str, size: int, operands: int) -> Call:
    """A sum of products."""

    def summed(*xs: Tensor) -> Tensor:
        total = xs[0] * 0.5
        for x in xs[1:]:
            total = total + x * 0.5
        return total

    return compiled(summed, [random(size, dtype=dtype) for _ in range(operands)])


@generated(
    lambda: [
        {"dtype": a, "to": b, "size": size}
        for a, b in (("fp32", "bf16"), ("bf16", "fp32"), ("fp16", "fp32"))
        for size in (2**16, 2**20, 2**22, 12_000_000, 2**25)
    ]
)
def generated_cast(dtype: str, to: str, size: int) -> Call:
    """A conversion after a product."""
    kind = DTYPES[to]
    return compiled(lambda x: (x * 0.5).to(kind), [random(size, dtype=dtype)])


@generated(lambda: points({"size": size} for size in SIZES))
def generated_dropout_add(dtype: str, size: int) -> Call:
    """Dropout of one tensor, added to another; the kernel draws random numbers."""

    def dropped(x: Tensor, y: Tensor) -> Tensor:
        return F.dropout(x, 0.1, True) + y

    return compiled(dropped, [random(size, dtype=dtype) for _ in range(2)])


_ROWS = [
    (8, 1024),
    (32, 768),
    (64, 4096),
    (512, 1024),
    (512, 3072),
    (2048, 768),
    (4096, 1024),
    (2048, 11008),
    (4096, 5632),
    (16384, 768),
    (16384, 4096),
]


def _rows() -> list[Params]:
    return points({"rows": rows, "cols": cols} for rows, cols in _ROWS)


@generated(_rows)
def generated_bias_gelu(dtype: str, rows: int, cols: int) -> Call:
    """A bias by column, then GELU."""
    operands = [random(rows, cols, dtype=dtype), random(cols, dtype=dtype)]
    return compiled(lambda x, b: F.gelu(x + b), operands)


@generated(_rows)
def generated_bias_gelu_tanh(dtype: str, rows: int, cols: int) -> Call:
    """A bias by column, GELU by the tanh approximation, and a residual."""
    operands = [
        random(rows, cols, dtype=dtype),
        random(cols, dtype=dtype),
        random(rows, cols, dtype=dtype),
    ]
    return compiled(lambda x, b, y: F.gelu(x + b, approximate="tanh") + y, operands)


@generated(_rows)
def generated_swiglu(dtype: str, rows: int, cols: int) -> Call:
    """Gate one half of a tensor by the other."""

    def gated(x: Tensor) -> Tensor:
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up

    return compiled(gated, [random(rows, 2 * cols, dtype=dtype)])


@generated(_rows)
def generated_scaled_by_row(dtype: str, rows: int, cols: int) -> Call:
    """Multiply by one number per row, and add one per column."""
    operands = [
        random(rows, cols, dtype=dtype),
        random(rows, 1, dtype=dtype),
        random(cols, dtype=dtype),
    ]
    return compiled(lambda x, row, column: x * row + column, operands)


@generated(lambda: [{"dtype": "fp32", "size": size} for size in (768, *SIZES)])
def generated_adam(dtype: str, size: int) -> Call:
    """An Adam step: reads weights, gradient and two moments, writes weights and moments."""

    def step(p: Tensor, g: Tensor, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        m = m + (g - m) * 0.1
        v = v * 0.999 + g * g * 0.001
        return p * 0.9999 - 1e-3 * (m / 0.1) / ((v / 0.001).abs().sqrt() + 1e-8), m, v

    return compiled(step, [random(size, dtype=dtype) for _ in range(4)])
