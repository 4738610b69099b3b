"""SwiGLU: silu(gate)·up, where gate and up are the two halves of a row of one projection."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from calibration.fused.tile import patch
from calibration.fused.variant import DTYPES, Traffic, jit, variant


@jit
def _kernel(x, out, rows, hidden, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < hidden)
    at = row.to(tl.int64) * hidden
    gate = tl.load(x + 2 * at + col, mask=inside).to(tl.float32)
    up = tl.load(x + 2 * at + hidden + col, mask=inside).to(tl.float32)
    tl.store(out + at + col, gate / (1.0 + tl.exp(-gate)) * up, mask=inside)


def unfused(x: torch.Tensor) -> torch.Tensor:
    """The chain in eager PyTorch."""
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


def operands(rows: int, hidden: int, dtype: str) -> tuple[torch.Tensor]:
    """The projection (rows, 2·hidden) that holds gate and up."""
    return (torch.randn(rows, 2 * hidden, dtype=DTYPES[dtype]),)


def traffic(rows: int, hidden: int, dtype: str) -> Traffic:
    """Reads both halves, writes one."""
    # negate, exp, add, divide; multiply
    return Traffic(3 * rows * hidden * DTYPES[dtype].itemsize, rows * hidden * (4 + 1))


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=[
        {"rows": rows, "hidden": hidden, "dtype": "bf16"}
        for hidden in (1024, 5632, 14336)
        for rows in (8, 512, 4096, 16384)
    ]
    + [{"rows": 4096, "hidden": 4096, "dtype": dtype} for dtype in ("fp32", "fp16")]
    + [
        {"rows": rows, "hidden": hidden, "dtype": dtype}
        for rows, hidden, dtype in (
            (16, 4096, "bf16"),
            (128, 4096, "bf16"),
            (2048, 4096, "bf16"),
            (64, 11008, "bf16"),
            (1024, 11008, "bf16"),
            (2048, 1024, "bf16"),
            (128, 14336, "bf16"),
            (2048, 5632, "bf16"),
            (8192, 5632, "bf16"),
            (512, 4096, "fp32"),
        )
    ],
    irregular=[{"rows": 1, "hidden": 1}, {"rows": 37, "hidden": 77}, {"rows": 3, "hidden": 1500}],
)
def fused(x: torch.Tensor) -> torch.Tensor:
    """Sigmoid and gating in one kernel, in fp32."""
    rows, hidden = x.shape[0], x.shape[1] // 2
    tile = patch(hidden)
    out = torch.empty(rows, hidden, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(rows, tile.rows), triton.cdiv(hidden, tile.cols))
    _kernel[grid](x, out, rows, hidden, ROWS=tile.rows, COLS=tile.cols, num_warps=tile.warps)
    return out
