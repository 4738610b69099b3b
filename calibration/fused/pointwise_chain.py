"""A chain of 1 to 64 pointwise ops: ·4, −2, sigmoid, repeated.

Two of three ops are cheap and one is not, so that a long chain in fp32 registers becomes
compute-bound, which the eager chain never does.
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from calibration.fused.variant import DTYPES, Traffic, jit, variant

BLOCK = 1024
_STEPS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda x: x * 4.0,
    lambda x: x - 2.0,
    torch.sigmoid,
)


@jit
def _kernel(x, out, size, OPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    y = tl.load(x + at, mask=inside).to(tl.float32)
    for op in tl.static_range(OPS):  # pyright: ignore[reportGeneralTypeIssues]
        if op % 3 == 0:
            y = y * 4.0
        elif op % 3 == 1:
            y = y - 2.0
        else:
            y = 1.0 / (1.0 + tl.exp(-y))
    tl.store(out + at, y, mask=inside)


def unfused(x: torch.Tensor, ops: int) -> torch.Tensor:
    """The chain with one eager op per step."""
    for op in range(ops):
        x = _STEPS[op % 3](x)
    return x


def operands(size: int, ops: int, dtype: str) -> tuple[torch.Tensor, int]:
    """`size` numbers and the length of the chain."""
    return torch.randn(size, dtype=DTYPES[dtype]), ops


def traffic(size: int, ops: int, dtype: str) -> Traffic:
    """Reads and writes each number once."""
    cycles, rest = divmod(ops, 3)
    # multiply, subtract, and sigmoid: negate, exp, add, divide
    return Traffic(2 * size * DTYPES[dtype].itemsize, size * (cycles * (1 + 1 + 4) + rest))


def _points() -> list[dict[str, object]]:
    lengths = (1, 2, 4, 8, 16, 32, 64)
    return [
        *({"size": 2**24, "ops": ops, "dtype": "bf16"} for ops in lengths),
        *(
            {"size": 2**log2, "ops": ops, "dtype": "fp32"}
            for log2 in (12, 18, 22, 26)
            for ops in (1, 8, 64)
        ),
        *(
            {"size": 2**log2, "ops": ops, "dtype": "fp32"}
            for log2, ops in ((14, 32), (16, 16), (20, 4), (20, 32), (24, 16))
        ),
    ]


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=_points(),
    irregular=[{"size": 1, "ops": 1}, {"size": 1500, "ops": 5}, {"size": 2049, "ops": 64}],
)
def fused(x: torch.Tensor, ops: int) -> torch.Tensor:
    """The whole chain in one kernel, in fp32."""
    out = torch.empty_like(x)
    _kernel[(triton.cdiv(x.numel(), BLOCK),)](x, out, x.numel(), OPS=ops, BLOCK=BLOCK)
    return out
