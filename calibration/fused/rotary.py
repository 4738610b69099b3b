"""Rotary position embedding: each pair (i, i + d/2) of a head is rotated by the angle of its
position."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import triton
import triton.language as tl

from calibration.fused.variant import DTYPES, Traffic, jit, variant


@jit
def _kernel(x, cosine, sine, out, seq, heads, half, HEADS: tl.constexpr, HALF: tl.constexpr):
    position = tl.program_id(0)
    head = tl.arange(0, HEADS)[:, None]
    dim = tl.arange(0, HALF)[None, :]
    inside = (head < heads) & (dim < half)
    angle = (position % seq) * 2 * half + dim
    low = position.to(tl.int64) * heads * 2 * half + head * 2 * half + dim
    x1 = tl.load(x + low, mask=inside).to(tl.float32)
    x2 = tl.load(x + low + half, mask=inside).to(tl.float32)
    c1 = tl.load(cosine + angle, mask=dim < half).to(tl.float32)
    c2 = tl.load(cosine + angle + half, mask=dim < half).to(tl.float32)
    s1 = tl.load(sine + angle, mask=dim < half).to(tl.float32)
    s2 = tl.load(sine + angle + half, mask=dim < half).to(tl.float32)
    tl.store(out + low, x1 * c1 - x2 * s1, mask=inside)
    tl.store(out + low + half, x2 * c2 + x1 * s2, mask=inside)


def unfused(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """The same computation as separate ops, as eager language models run it."""
    x1, x2 = x.chunk(2, dim=-1)
    turned = torch.cat((-x2, x1), dim=-1)
    return x * cosine[:, None] + turned * sine[:, None]


def operands(batch: int, seq: int, heads: int, dim: int, dtype: str) -> tuple[torch.Tensor, ...]:
    """x (batch, seq, heads, dim), cosines and sines (seq, dim)."""
    kind = DTYPES[dtype]
    angle = torch.randn(seq, dim)
    return (
        torch.randn(batch, seq, heads, dim, dtype=kind),
        angle.cos().to(kind),
        angle.sin().to(kind),
    )


def traffic(batch: int, seq: int, heads: int, dim: int, dtype: str) -> Traffic:
    """Reads and writes x; reads cosines and sines once, since L2 holds them between batches."""
    elements = batch * seq * heads * dim
    # two multiplies and an add
    return Traffic((2 * elements + 2 * seq * dim) * DTYPES[dtype].itemsize, elements * (2 + 1))


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=[
        {"batch": batch, "seq": seq, "heads": heads, "dim": dim, "dtype": "bf16"}
        for heads, dim in ((8, 128), (32, 128), (16, 64))
        for batch, seq in ((32, 1), (1, 512), (4, 2048), (4, 8192))
    ]
    + [
        {"batch": 2, "seq": 2048, "heads": 32, "dim": 128, "dtype": dtype}
        for dtype in ("fp32", "fp16")
    ]
    + [
        {"batch": batch, "seq": seq, "heads": heads, "dim": dim, "dtype": dtype}
        for batch, seq, heads, dim, dtype in (
            (1, 128, 32, 128, "bf16"),
            (8, 512, 32, 128, "bf16"),
            (64, 1, 32, 128, "bf16"),
            (16, 128, 12, 64, "bf16"),
            (8, 1024, 16, 64, "bf16"),
            (1, 2048, 8, 128, "bf16"),
            (2, 4096, 32, 128, "bf16"),
            (128, 1, 16, 64, "bf16"),
            (1, 1024, 40, 128, "bf16"),
            (1, 512, 32, 128, "fp32"),
        )
    ],
    irregular=[
        {"batch": 1, "seq": 1, "heads": 1, "dim": 2},
        {"batch": 2, "seq": 7, "heads": 3, "dim": 80},
    ],
)
def fused(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """The rotation in one kernel, with one read and one write; a program processes all heads of a
    position."""
    batch, seq, heads, dim = x.shape
    half = dim // 2
    out = torch.empty_like(x)
    tile = (triton.next_power_of_2(heads), triton.next_power_of_2(half))
    warps = min(8, max(1, tile[0] * tile[1] // 256))  # 8 pairs per thread
    _kernel[(batch * seq,)](
        x, cosine, sine, out, seq, heads, half, HEADS=tile[0], HALF=tile[1], num_warps=warps
    )
    return out
