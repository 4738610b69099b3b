"""RMS norm: x / √(mean(x²) + ε) · weight, which language models write out in fp32."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import triton
import triton.language as tl

from calibration.fused.tile import whole_rows
from calibration.fused.variant import DTYPES, Traffic, jit, variant

EPSILON = 1e-6


@jit
def _kernel(x, weight, out, rows, cols, epsilon, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    at = row.to(tl.int64) * cols + col
    y = tl.load(x + at, mask=inside, other=0).to(tl.float32)
    square = tl.sum(y * y, axis=1, keep_dims=True) / cols
    w = tl.load(weight + col, mask=col < cols, other=0).to(tl.float32)
    tl.store(out + at, y * tl.rsqrt(square + epsilon) * w, mask=inside)


def unfused(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The same norm as the separate ops of the Llama networks in transformers."""
    y = x.to(torch.float32)
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPSILON)
    return weight * y.to(x.dtype)


def operands(rows: int, cols: int, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """x (rows, cols) and weight (cols,)."""
    x = torch.randn(rows, cols, dtype=DTYPES[dtype])
    return x, torch.randn(cols, dtype=DTYPES[dtype])


def traffic(rows: int, cols: int, dtype: str) -> Traffic:
    """Reads x and weight, writes the result."""
    moved = (2 * rows * cols + cols) * DTYPES[dtype].itemsize
    # square, sum; scale; weight
    return Traffic(moved, rows * cols * (2 + 1 + 1))


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=[
        {"rows": rows, "cols": cols, "dtype": "bf16"}
        for cols in (128, 2048, 8192)
        for rows in (16, 512, 4096, 32768)
    ]
    + [{"rows": 8192, "cols": 4096, "dtype": dtype} for dtype in ("fp32", "fp16")]
    + [
        {"rows": rows, "cols": cols, "dtype": dtype}
        for rows, cols, dtype in (
            (1, 4096, "bf16"),
            (128, 1024, "bf16"),
            (2048, 1024, "bf16"),
            (128, 4096, "bf16"),
            (2048, 4096, "bf16"),
            (16384, 4096, "bf16"),
            (64, 5120, "bf16"),
            (1024, 5120, "bf16"),
            (8192, 128, "bf16"),
            (512, 2048, "fp32"),
        )
    ],
    irregular=[{"rows": 1, "cols": 3}, {"rows": 37, "cols": 77}, {"rows": 3, "cols": 3001}],
)
def fused(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The norm in one kernel, with one read and one write."""
    rows, cols = x.shape
    tile = whole_rows(cols)
    out = torch.empty_like(x)
    _kernel[(triton.cdiv(rows, tile.rows),)](
        x, weight, out, rows, cols, EPSILON, ROWS=tile.rows, COLS=tile.cols, num_warps=tile.warps
    )
    return out
