"""Cross-entropy of each token in fp32: log Σ exp(x) − x[target], in one pass over the vocabulary.

The running maximum and sum are those of online softmax (Milakov and Gimelshein, 2018).
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from calibration.fused.variant import DTYPES, Traffic, jit, variant


@jit
def _kernel(logits, target, loss, vocabulary, COLS: tl.constexpr):
    row = tl.program_id(0)
    start = logits + row.to(tl.int64) * vocabulary
    top = tl.full([1], float("-inf"), tl.float32)
    total = tl.zeros([1], tl.float32)
    for first in range(0, vocabulary, COLS):
        col = first + tl.arange(0, COLS)
        x = tl.load(start + col, mask=col < vocabulary, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), axis=0)
        top = higher
    right = tl.load(start + tl.load(target + row)).to(tl.float32)
    tl.store(loss + row + tl.arange(0, 1), tl.log(total) + top - right)


def unfused(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The chain of language models: a cast, log-softmax, the target's element."""
    return F.cross_entropy(logits.to(torch.float32), target, reduction="none")


def operands(rows: int, vocabulary: int, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (rows, vocabulary) and targets (rows,)."""
    logits = torch.randn(rows, vocabulary, dtype=DTYPES[dtype])
    return logits, torch.randint(0, vocabulary, (rows,))


def traffic(rows: int, vocabulary: int, dtype: str) -> Traffic:
    """Reads the logits, and a target of 8 bytes per row; writes a loss of 4 bytes per row."""
    moved = rows * vocabulary * DTYPES[dtype].itemsize + rows * (8 + 4)
    # max; subtract, exp; sum
    return Traffic(moved, rows * vocabulary * (1 + 2 + 1))


@variant(
    unfused=unfused,
    operands=operands,
    traffic=traffic,
    points=[
        {"rows": rows, "vocabulary": vocabulary, "dtype": "bf16"}
        for rows, vocabulary in (
            (128, 1000),
            (4096, 1000),
            (32768, 1000),
            (64, 50257),
            (512, 50257),
            (4096, 50257),
            (512, 32000),
            (8192, 32000),
            (64, 128256),
            (512, 128256),
            (4096, 128256),
        )
    ]
    + [{"rows": 2048, "vocabulary": 50304, "dtype": dtype} for dtype in ("fp32", "fp16")]
    + [
        {"rows": rows, "vocabulary": vocabulary, "dtype": dtype}
        for rows, vocabulary, dtype in (
            (16, 32000, "bf16"),
            (128, 32000, "bf16"),
            (2048, 32000, "bf16"),
            (256, 50257, "bf16"),
            (1024, 50257, "bf16"),
            (2048, 50257, "bf16"),
            (128, 128256, "bf16"),
            (2048, 128256, "bf16"),
            (1024, 1000, "bf16"),
            (8192, 50304, "bf16"),
            (512, 32000, "fp32"),
        )
    ],
    irregular=[
        {"rows": 1, "vocabulary": 2},
        {"rows": 5, "vocabulary": 1001},
        {"rows": 2, "vocabulary": 9001},
    ],
)
def fused(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss in one kernel, with one read of the logits and one small write per row."""
    rows, vocabulary = logits.shape
    loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
    cols = min(4096, triton.next_power_of_2(vocabulary))
    _kernel[(rows,)](logits, target, loss, vocabulary, COLS=cols, num_warps=max(1, cols // 512))
    return loss
