"""FlashAttention forward: softmax(q·kᵀ/√d)·v without the matrix of scores in memory.

One program processes a block of queries and iterates over the keys with a running maximum and sum
(Dao, "FlashAttention-2", 2023, algorithm 1). Exponentials are powers of two: the scale includes
log₂e.
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from calibration.fused.variant import DTYPES, Traffic, jit, variant

LOG2_E = 1.4426950408889634


@jit
def _walk(
    q,
    k_at,
    v_at,
    sums,
    total,
    top,
    query,
    first,
    last,
    seq,
    scale,
    DIM: tl.constexpr,
    KEYS: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Add the keys first … last − 1 to the sums; MASKED blocks hold keys that are masked out."""
    for start in range(first, last, KEYS):
        key = start + tl.arange(0, KEYS)
        offset = start * DIM
        if MASKED:
            k = tl.load(k_at + offset, mask=(key < seq)[None, :], other=0)
            v = tl.load(v_at + offset, mask=(key < seq)[:, None], other=0)
        else:
            k = tl.load(k_at + offset)
            v = tl.load(v_at + offset)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        if MASKED:
            visible = (key < seq)[None, :]
            if CAUSAL:
                visible = visible & (key[None, :] <= query[:, None])
            scores = tl.where(visible, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, axis=1))
        shrink = tl.exp2(top - higher)
        weights = tl.exp2(scores - higher[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        sums = tl.dot(weights.to(v.dtype), v, sums * shrink[:, None], input_precision="ieee")
        top = higher
    return sums, total, top


@jit
def _kernel(
    q,
    k,
    v,
    out,
    seq,
    scale,
    DIM: tl.constexpr,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    # the last queries attend to the most keys, so they start first
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * seq * DIM
    query = block * QUERIES + tl.arange(0, QUERIES)
    key = tl.arange(0, KEYS)
    dim = tl.arange(0, DIM)
    at = base + query[:, None] * DIM + dim[None, :]
    tile = tl.load(q + at, mask=(query < seq)[:, None], other=0)
    k_at = k + base + key[None, :] * DIM + dim[:, None]
    v_at = v + base + key[:, None] * DIM + dim[None, :]
    sums = tl.zeros((QUERIES, DIM), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    top = tl.full((QUERIES,), float("-inf"), tl.float32)
    last = seq
    whole = seq // KEYS * KEYS
    if CAUSAL:
        last = min(seq, (block + 1) * QUERIES)
        whole = min(whole, block * QUERIES // KEYS * KEYS)
    sums, total, top = _walk(
        tile, k_at, v_at, sums, total, top, query, 0, whole, seq, scale, DIM, KEYS, CAUSAL, False
    )
    sums, total, top = _walk(
        tile, k_at, v_at, sums, total, top, query, whole, last, seq, scale, DIM, KEYS, CAUSAL, True
    )
    tl.store(out + at, sums / total[:, None], mask=(query < seq)[:, None])


class Blocks(NamedTuple):
    """Queries and keys of a step, the warps of a program and the depth of its pipeline."""

    queries: int
    keys: int
    warps: int
    stages: int


def blocks(seq: int, dim: int, itemsize: int) -> Blocks:
    """Blocks that fit in registers and shared memory."""
    if itemsize == 4:  # no tensor cores in full fp32
        return Blocks(32, 32, 4, 1)
    if seq <= 64:
        return Blocks(64, 32, 4, 2)
    return Blocks(128, 64 if dim > 64 else 128, 8 if dim > 64 else 4, 3)


def unfused(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, future: torch.Tensor | None
) -> torch.Tensor:
    """The chain of eager attention."""
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if future is not None:
        scores = scores.masked_fill(future, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def operands(
    batch: int, heads: int, seq: int, dim: int, causal: bool, dtype: str
) -> tuple[torch.Tensor | None, ...]:
    """q, k and v (batch, heads, seq, dim). If causal, also the (seq, seq) mask of later keys, which
    only the eager chain reads. `dim` is a power of two, at least 16."""
    q, k, v = (torch.randn(batch, heads, seq, dim, dtype=DTYPES[dtype]) for _ in range(3))
    return q, k, v, torch.ones(seq, seq, dtype=torch.bool).triu(1) if causal else None


def traffic(batch: int, heads: int, seq: int, dim: int, causal: bool, dtype: str) -> Traffic:
    """Reads q, k and v, writes the result; two products over the unmasked pairs."""
    moved = 4 * batch * heads * seq * dim * DTYPES[dtype].itemsize
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    return Traffic(moved, 2 * 2 * batch * heads * pairs * dim)


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    matrix=True,
    points=[
        {"batch": b, "heads": h, "seq": s, "dim": d, "causal": causal, "dtype": "bf16"}
        for b, h, s, d, causal in (
            (1, 12, 64, 64, False),
            (8, 12, 128, 64, False),
            (64, 12, 197, 64, False),
            (4, 16, 512, 64, True),
            (4, 16, 512, 64, False),
            (1, 32, 1024, 128, True),
            (4, 16, 2048, 64, False),
            (2, 16, 2048, 128, True),
            (2, 16, 4096, 128, False),
            (2, 16, 4096, 128, True),
            (1, 16, 8192, 64, True),
            (1, 8, 8192, 128, True),
        )
    ]
    + [
        {"batch": 2, "heads": 16, "seq": 4096, "dim": 128, "causal": False, "dtype": "fp16"},
    ],
    irregular=[
        {"batch": 1, "heads": 1, "seq": 1, "dim": 16, "causal": False},
        {"batch": 2, "heads": 3, "seq": 77, "dim": 32, "causal": False},
        {"batch": 1, "heads": 2, "seq": 133, "dim": 64, "causal": True},
        {"batch": 1, "heads": 2, "seq": 201, "dim": 128, "causal": True},
    ],
)
def fused(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, future: torch.Tensor | None
) -> torch.Tensor:
    """Attention in one kernel, with the scores only in registers."""
    batch, heads, seq, dim = q.shape
    block = blocks(seq, dim, q.itemsize)
    out = torch.empty_like(q)
    _kernel[(triton.cdiv(seq, block.queries), batch * heads)](
        q,
        k,
        v,
        out,
        seq,
        dim**-0.5 * LOG2_E,
        DIM=dim,
        QUERIES=block.queries,
        KEYS=block.keys,
        CAUSAL=future is not None,
        num_warps=block.warps,
        num_stages=block.stages,
    )
    return out
