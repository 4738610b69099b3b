"""Residual add, then layer norm: (s − mean(s)) / √(var(s) + ε) · weight + bias of s = x + residual.

The sum is a result too: it is the next block's residual.
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from calibration.fused.tile import whole_rows
from calibration.fused.variant import DTYPES, Traffic, jit, variant

EPSILON = 1e-5


@jit
def _kernel(
    x,
    residual,
    weight,
    bias,
    total,
    out,
    rows,
    cols,
    epsilon,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    at = row.to(tl.int64) * cols + col
    s = tl.load(x + at, mask=inside, other=0).to(tl.float32)
    s += tl.load(residual + at, mask=inside, other=0).to(tl.float32)
    tl.store(total + at, s, mask=inside)
    mean = tl.sum(s, axis=1, keep_dims=True) / cols
    centred = tl.where(col < cols, s - mean, 0.0)
    variance = tl.sum(centred * centred, axis=1, keep_dims=True) / cols
    w = tl.load(weight + col, mask=col < cols, other=0).to(tl.float32)
    b = tl.load(bias + col, mask=col < cols, other=0).to(tl.float32)
    tl.store(out + at, centred * tl.rsqrt(variance + epsilon) * w + b, mask=inside)


def unfused(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The chain in eager PyTorch."""
    total = x + residual
    return total, F.layer_norm(total, weight.shape, weight, bias, EPSILON)


def operands(rows: int, cols: int, dtype: str) -> tuple[torch.Tensor, ...]:
    """x and residual (rows, cols), weight and bias (cols,)."""
    kind = DTYPES[dtype]
    wide = [torch.randn(rows, cols, dtype=kind) for _ in range(2)]
    return (*wide, *(torch.randn(cols, dtype=kind) for _ in range(2)))


def traffic(rows: int, cols: int, dtype: str) -> Traffic:
    """Reads x, residual, weight and bias; writes the sum and the result."""
    moved = (4 * rows * cols + 2 * cols) * DTYPES[dtype].itemsize
    # add; sum; subtract; square, sum; scale; weight, bias
    return Traffic(moved, rows * cols * (1 + 1 + 1 + 2 + 1 + 2))


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=[
        {"rows": rows, "cols": cols, "dtype": "bf16"}
        for cols in (768, 2048, 8192)
        for rows in (16, 512, 4096, 32768)
    ]
    + [{"rows": 8192, "cols": 1024, "dtype": dtype} for dtype in ("fp32", "fp16")]
    + [
        {"rows": rows, "cols": cols, "dtype": dtype}
        for rows, cols, dtype in (
            (1, 4096, "bf16"),
            (128, 1024, "bf16"),
            (2048, 1024, "bf16"),
            (128, 4096, "bf16"),
            (2048, 4096, "bf16"),
            (16384, 4096, "bf16"),
            (1024, 768, "bf16"),
            (64, 5120, "bf16"),
            (8192, 768, "bf16"),
            (2048, 768, "fp32"),
        )
    ],
    irregular=[{"rows": 1, "cols": 3}, {"rows": 37, "cols": 77}, {"rows": 3, "cols": 3001}],
)
def fused(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add and normalise in one kernel; the norm reads the sum from fp32 registers."""
    rows, cols = x.shape
    tile = whole_rows(cols)
    total, out = torch.empty_like(x), torch.empty_like(x)
    _kernel[(triton.cdiv(rows, tile.rows),)](
        x,
        residual,
        weight,
        bias,
        total,
        out,
        rows,
        cols,
        EPSILON,
        ROWS=tile.rows,
        COLS=tile.cols,
        num_warps=tile.warps,
    )
    return total, out
