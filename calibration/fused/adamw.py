"""One AdamW step of one parameter, in place (Loshchilov and Hutter, 2019, with decoupled decay)."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import triton
import triton.language as tl

from calibration.fused.variant import DTYPES, Traffic, jit, variant

RATE, DECAY, BETA1, BETA2, EPSILON, STEP = 1e-3, 0.01, 0.9, 0.999, 1e-8, 7
BLOCK = 1024
_CORRECTION1 = 1 - BETA1**STEP
_CORRECTION2 = (1 - BETA2**STEP) ** 0.5


@jit
def _kernel(
    parameter,
    gradient,
    mean,
    square,
    size,
    keep,
    rate,
    beta1,
    beta2,
    correction2,
    epsilon,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    p = tl.load(parameter + at, mask=inside).to(tl.float32)
    g = tl.load(gradient + at, mask=inside).to(tl.float32)
    m = tl.load(mean + at, mask=inside).to(tl.float32)
    v = tl.load(square + at, mask=inside).to(tl.float32)
    m += (1.0 - beta1) * (g - m)
    v = beta2 * v + (1.0 - beta2) * g * g
    p = keep * p - rate * m / (tl.sqrt(v) / correction2 + epsilon)
    tl.store(parameter + at, p, mask=inside)
    tl.store(mean + at, m, mask=inside)
    tl.store(square + at, v, mask=inside)


def unfused(
    parameter: torch.Tensor, gradient: torch.Tensor, mean: torch.Tensor, square: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """The step as in the optimizer's single-tensor path."""
    parameter.mul_(1 - RATE * DECAY)
    mean.lerp_(gradient, 1 - BETA1)
    square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
    root = (square.sqrt() / _CORRECTION2).add_(EPSILON)
    parameter.addcdiv_(mean, root, value=-RATE / _CORRECTION1)
    return parameter, mean, square


def operands(size: int, dtype: str) -> tuple[torch.Tensor, ...]:
    """Parameter, gradient, mean and mean square, `size` elements each."""
    p, g, m, v = (torch.randn(size, dtype=DTYPES[dtype]) for _ in range(4))
    return p, g, m, v.square()


def traffic(size: int, dtype: str) -> Traffic:
    """Reads four tensors and writes three."""
    # decay; lerp 3; mean square 4; sqrt, divide, add; multiply, divide, subtract
    return Traffic(7 * size * DTYPES[dtype].itemsize, size * (1 + 3 + 4 + 3 + 3))


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=[
        {"size": size, "dtype": dtype}
        for dtype in ("fp32", "bf16")
        for size in (768, 2**16, 768 * 768, 2**20, 2**22, 4096 * 4096, 2**27)
    ]
    + [
        {"size": size, "dtype": dtype}
        for dtype in ("fp32", "bf16")
        for size in (2**13, 2**18, 3 * 768 * 768, 2**21, 2**23)
    ],
    irregular=[{"size": 1}, {"size": 1500}, {"size": 2049}],
)
def fused(
    parameter: torch.Tensor, gradient: torch.Tensor, mean: torch.Tensor, square: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """The step in one kernel, with four reads and three writes."""
    size = parameter.numel()
    _kernel[(triton.cdiv(size, BLOCK),)](
        parameter,
        gradient,
        mean,
        square,
        size,
        1 - RATE * DECAY,
        RATE / _CORRECTION1,
        BETA1,
        BETA2,
        _CORRECTION2,
        EPSILON,
        BLOCK=BLOCK,
    )
    return parameter, mean, square
