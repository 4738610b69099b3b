"""Softmax of attention scores as in eager attention: scale, add a mask, normalise."""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import triton
import triton.language as tl

from calibration.fused.tile import whole_rows
from calibration.fused.variant import DTYPES, Traffic, jit, variant

SCALE = 0.125


@jit
def _kernel(scores, mask, out, rows, queries, keys, scale, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < keys)
    at = row.to(tl.int64) * keys + col
    x = tl.load(scores + at, mask=inside, other=0).to(tl.float32) * scale
    x += tl.load(mask + (row % queries) * keys + col, mask=inside, other=0).to(tl.float32)
    x = tl.where(col < keys, x, float("-inf"))
    e = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    tl.store(out + at, e / tl.sum(e, axis=1, keep_dims=True), mask=inside)


def unfused(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The chain of eager attention."""
    return torch.softmax(scores * SCALE + mask, dim=-1)


def operands(heads: int, queries: int, keys: int, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (heads, queries, keys) and the mask (queries, keys): 0, or −∞ for a later key; the
    last query attends to the last key."""
    scores = torch.randn(heads, queries, keys, dtype=DTYPES[dtype])
    mask = torch.full((queries, keys), float("-inf"), dtype=DTYPES[dtype])
    return scores, mask.triu(keys - queries + 1)


def traffic(heads: int, queries: int, keys: int, dtype: str) -> Traffic:
    """Reads the scores and the mask, writes the result."""
    one = queries * keys
    # scale, mask; max; subtract, exp; sum; divide
    return Traffic(
        (2 * heads + 1) * one * DTYPES[dtype].itemsize, heads * one * (2 + 1 + 2 + 1 + 1)
    )


def zeros(heads: int, queries: int, keys: int, dtype: str) -> int:
    """The number of masked pairs, with keys later than their query: queries − 1 for the first
    query, none for the last."""
    return heads * queries * (queries - 1) // 2


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    zeros=zeros,
    points=[
        {"heads": heads, "queries": queries, "keys": keys, "dtype": "bf16"}
        for heads, queries, keys in (
            (12, 64, 64),
            (96, 128, 128),
            (384, 128, 128),
            (12, 512, 512),
            (128, 512, 512),
            (32, 1, 2048),
            (256, 1, 4096),
            (32, 1024, 1024),
            (16, 2048, 2048),
            (64, 2048, 2048),
            (16, 4096, 4096),
            (4, 8192, 8192),
        )
    ]
    + [{"heads": 32, "queries": 1024, "keys": 1024, "dtype": dtype} for dtype in ("fp32", "fp16")]
    + [
        {"heads": heads, "queries": queries, "keys": keys, "dtype": dtype}
        for heads, queries, keys, dtype in (
            (384, 1, 128, "bf16"),
            (32, 1, 1024, "bf16"),
            (1024, 1, 2048, "bf16"),
            (32, 1, 8192, "bf16"),
            (12, 128, 128, "bf16"),
            (12, 256, 256, "bf16"),
            (64, 512, 512, "bf16"),
            (16, 1024, 1024, "bf16"),
            (4, 2048, 2048, "bf16"),
            (12, 512, 512, "fp32"),
        )
    ],
    irregular=[
        {"heads": 1, "queries": 1, "keys": 1},
        {"heads": 3, "queries": 13, "keys": 77},
        {"heads": 2, "queries": 1, "keys": 3001},
    ],
)
def fused(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The softmax in one kernel, which reads and writes each score once; heads share a mask."""
    heads, queries, keys = scores.shape
    rows = heads * queries
    tile = whole_rows(keys)
    out = torch.empty_like(scores)
    _kernel[(triton.cdiv(rows, tile.rows),)](
        scores,
        mask,
        out,
        rows,
        queries,
        keys,
        SCALE,
        ROWS=tile.rows,
        COLS=tile.cols,
        num_warps=tile.warps,
    )
    return out
