"""A linear layer with bias and GELU in its epilogue: gelu(x · weightᵀ + bias)."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from calibration.fused.variant import DTYPES, Traffic, jit, variant


@jit
def _kernel(
    x,
    weight,
    bias,
    out,
    rows,
    cols,
    inner,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    INNER: tl.constexpr,
    BAND: tl.constexpr,
    EVEN: tl.constexpr,
):
    # tiles in bands of rows, so that tiles that run at the same time share operands in L2
    per_band = BAND * tl.cdiv(cols, COLS)
    first = tl.program_id(0) // per_band * BAND
    height = min(tl.cdiv(rows, ROWS) - first, BAND)
    row = (first + tl.program_id(0) % per_band % height) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) % per_band // height * COLS + tl.arange(0, COLS)
    k = tl.arange(0, INNER)
    # tiles beyond the edge wrap around, which needs no mask; their results are not stored
    x_at = x + (row % rows).to(tl.int64)[:, None] * inner + k[None, :]
    weight_at = weight + (col % cols).to(tl.int64)[None, :] * inner + k[:, None]
    sums = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(0, inner, INNER):
        if EVEN:
            a = tl.load(x_at)
            b = tl.load(weight_at)
        else:
            a = tl.load(x_at, mask=k[None, :] < inner - start, other=0)
            b = tl.load(weight_at, mask=k[:, None] < inner - start, other=0)
        sums = tl.dot(a, b, sums, input_precision="ieee")
        x_at += INNER
        weight_at += INNER
    y = sums + tl.load(bias + col, mask=col < cols, other=0).to(tl.float32)[None, :]
    y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    at = row.to(tl.int64)[:, None] * cols + col[None, :]
    tl.store(out + at, y, mask=(row < rows)[:, None] & (col < cols)[None, :])


class Tiling(NamedTuple):
    """The kernel's tile, the warps of a program and the depth of its pipeline."""

    rows: int
    cols: int
    inner: int
    warps: int
    stages: int


def tiling(rows: int, cols: int, itemsize: int) -> Tiling:
    """The largest tile size with which each of 132 multiprocessors still has about one tile."""
    if itemsize == 4:  # no tensor cores in full fp32
        return Tiling(64, 64, 32, 4, 2)
    for tile in (Tiling(128, 256, 64, 8, 4), Tiling(128, 128, 64, 4, 4), Tiling(64, 128, 64, 4, 4)):
        if triton.cdiv(rows, tile.rows) * triton.cdiv(cols, tile.cols) >= 120:
            return tile
    return Tiling(64, 64, 128, 4, 4) if rows > 16 else Tiling(16, 64, 128, 4, 5)


def unfused(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The chain in eager PyTorch: the library's product with its bias, then GELU."""
    return F.gelu(F.linear(x, weight, bias))


def operands(rows: int, cols: int, inner: int, dtype: str) -> tuple[torch.Tensor, ...]:
    """x (rows, inner), weight (cols, inner), bias (cols,); results of order one."""
    kind = DTYPES[dtype]
    weight = torch.randn(cols, inner, dtype=kind) * inner**-0.5
    return torch.randn(rows, inner, dtype=kind), weight, torch.randn(cols, dtype=kind)


def traffic(rows: int, cols: int, inner: int, dtype: str) -> Traffic:
    """Reads or writes each matrix once; counts only the FLOPs of the product, since the epilogue
    has few."""
    moved = (rows * inner + cols * inner + cols + rows * cols) * DTYPES[dtype].itemsize
    return Traffic(moved, 2 * rows * cols * inner)


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    matrix=True,
    points=[
        {"rows": rows, "cols": cols, "inner": inner, "dtype": "bf16"}
        for rows, cols, inner in (
            (1, 14336, 4096),
            (16, 4096, 1024),
            (16, 14336, 4096),
            (128, 3072, 768),
            (512, 3072, 768),
            (512, 14336, 4096),
            (2048, 2048, 2048),
            (4096, 3072, 768),
            (4096, 4096, 4096),
            (4096, 14336, 4096),
            (16384, 4096, 1024),
            (8192, 8192, 8192),
        )
    ]
    + [{"rows": 4096, "cols": 4096, "inner": 4096, "dtype": "fp16"}],
    irregular=[
        {"rows": 1, "cols": 1, "inner": 1},
        {"rows": 37, "cols": 77, "inner": 100},
        {"rows": 130, "cols": 258, "inner": 64},
    ],
)
def fused(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The product in one kernel, with bias and GELU applied to each tile in registers."""
    rows, inner = x.shape
    cols = weight.shape[0]
    tile = tiling(rows, cols, x.itemsize)
    out = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    _kernel[(triton.cdiv(rows, tile.rows) * triton.cdiv(cols, tile.cols),)](
        x,
        weight,
        bias,
        out,
        rows,
        cols,
        inner,
        ROWS=tile.rows,
        COLS=tile.cols,
        INNER=tile.inner,
        BAND=8,
        EVEN=inner % tile.inner == 0,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )
    return out
