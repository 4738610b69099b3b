"""Bias and GELU after a linear layer: x·½·(1 + erf(x·√½)) of x + bias."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from calibration.fused.tile import patch
from calibration.fused.variant import DTYPES, Traffic, jit, variant


@jit
def _kernel(x, bias, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    at = row.to(tl.int64) * cols + col
    y = tl.load(x + at, mask=inside).to(tl.float32)
    y += tl.load(bias + col, mask=col < cols).to(tl.float32)
    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    tl.store(out + at, y, mask=inside)


def unfused(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The chain in eager PyTorch."""
    return F.gelu(x + bias)


def operands(rows: int, cols: int, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """x (rows, cols) and the bias (cols,)."""
    x = torch.randn(rows, cols, dtype=DTYPES[dtype])
    return x, torch.randn(cols, dtype=DTYPES[dtype])


def traffic(rows: int, cols: int, dtype: str) -> Traffic:
    """Reads x and the bias, writes the result."""
    moved = (2 * rows * cols + cols) * DTYPES[dtype].itemsize
    # bias; three multiplies, erf, add
    return Traffic(moved, rows * cols * (1 + 5))


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=[
        {"rows": rows, "cols": cols, "dtype": dtype}
        for cols in (1024, 3072, 14336)
        for rows, dtype in ((8, "bf16"), (512, "bf16"), (4096, "bf16"), (16384, "bf16"))
    ]
    + [{"rows": 4096, "cols": 4096, "dtype": dtype} for dtype in ("fp32", "fp16")]
    + [
        {"rows": rows, "cols": cols, "dtype": dtype}
        for rows, cols, dtype in (
            (128, 3072, "bf16"),
            (2048, 3072, "bf16"),
            (1024, 4096, "bf16"),
            (128, 4096, "bf16"),
            (8192, 4096, "bf16"),
            (2048, 14336, "bf16"),
            (64, 1024, "bf16"),
            (2048, 1024, "bf16"),
            (512, 3072, "fp32"),
            (2048, 4096, "fp32"),
        )
    ],
    irregular=[{"rows": 1, "cols": 1}, {"rows": 37, "cols": 77}, {"rows": 3, "cols": 1500}],
)
def fused(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Bias and GELU in one kernel, in fp32."""
    rows, cols = x.shape
    tile = patch(cols)
    out = torch.empty_like(x)
    grid = (triton.cdiv(rows, tile.rows), triton.cdiv(cols, tile.cols))
    _kernel[grid](x, bias, out, rows, cols, ROWS=tile.rows, COLS=tile.cols, num_warps=tile.warps)
    return out
