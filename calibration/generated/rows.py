"""Reductions along the innermost dimension, with loops before and after them."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.generated.compiled import compiled, generated, points
from calibration.sweeps.operands import indices, random
from calibration.sweeps.registry import Call, Params

SHAPES = [
    (16, 256),
    (512, 768),
    (65536, 64),
    (4096, 1024),
    (128, 32768),
    (32768, 768),
    (2048, 8192),
    (16384, 4096),
    (64, 1024),
    (2048, 768),
    (8192, 128),
    (256, 4096),
    (1024, 2048),
    (8192, 768),
    (4096, 5120),
    (1024, 16384),
    (100, 1280),
]
REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(-1),
    "max": lambda x: x.amax(-1),
    "squares": lambda x: torch.rsqrt((x * x).mean(-1) + 1e-6),
    "var": lambda x: x.var(-1),
    "exp": lambda x: torch.exp(x * 0.5).sum(-1),
}


def _matrices(shapes: list[tuple[int, int]] = SHAPES) -> list[Params]:
    return points({"rows": rows, "cols": cols} for rows, cols in shapes)


@generated(
    lambda: [
        {"name": name, "dtype": dtype, "rows": rows, "cols": cols}
        for name in REDUCTIONS
        for dtype, rows, cols in (
            ("bf16", 64, 4096),
            ("fp32", 4096, 512),
            ("bf16", 32768, 1024),
            ("bf16", 8, 262144),
            ("fp32", 131072, 64),
            ("bf16", 1024, 16384),
            ("bf16", 512, 1024),
            ("fp32", 2048, 2048),
            ("bf16", 8192, 4096),
            ("fp32", 16384, 256),
        )
    ]
)
def generated_reduced_rows(name: str, dtype: str, rows: int, cols: int) -> Call:
    """Reduce each row to one number."""
    reduced = REDUCTIONS[name]
    return compiled(lambda x: reduced(x), [random(rows, cols, dtype=dtype)])


@generated(_matrices)
def generated_softmax(dtype: str, rows: int, cols: int) -> Call:
    """Softmax of a scaled tensor."""
    return compiled(lambda x: torch.softmax(x * 0.125, -1), [random(rows, cols, dtype=dtype)])


@generated(_matrices)
def generated_log_softmax(dtype: str, rows: int, cols: int) -> Call:
    """The logarithm of softmax, in fp32."""
    return compiled(lambda x: torch.log_softmax(x.float(), -1), [random(rows, cols, dtype=dtype)])


@generated(
    lambda: points(
        {"heads": heads, "queries": queries, "keys": keys}
        for heads, queries, keys in (
            (12, 64, 64),
            (96, 128, 128),
            (12, 512, 512),
            (32, 1, 4096),
            (64, 1024, 1024),
            (16, 2048, 2048),
            (4, 8192, 8192),
            (12, 197, 197),
            (192, 64, 64),
            (32, 256, 1024),
            (128, 512, 512),
        )
    )
)
def generated_masked_softmax(dtype: str, heads: int, queries: int, keys: int) -> Call:
    """Softmax of attention scores [heads, queries, keys] that are scaled and have a mask [queries,
    keys] added."""
    operands = [random(heads, queries, keys, dtype=dtype), random(queries, keys, dtype=dtype)]
    return compiled(lambda s, mask: torch.softmax(s * 0.125 + mask, -1), operands)


@generated(_matrices)
def generated_layer_norm(dtype: str, rows: int, cols: int) -> Call:
    """Layer norm with scale and shift."""
    operands = [random(rows, cols, dtype=dtype), *(random(cols, dtype=dtype) for _ in range(2))]
    return compiled(lambda x, w, b: F.layer_norm(x, (cols,), w, b), operands)


@generated(_matrices)
def generated_add_layer_norm(dtype: str, rows: int, cols: int) -> Call:
    """Layer norm of a sum, which is a second result."""

    def added(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        total = x + y
        return total, F.layer_norm(total, (cols,), w, b)

    wide = [random(rows, cols, dtype=dtype) for _ in range(2)]
    return compiled(added, [*wide, *(random(cols, dtype=dtype) for _ in range(2))])


@generated(_matrices)
def generated_rms_norm(dtype: str, rows: int, cols: int) -> Call:
    """RMS norm in fp32, as in language models."""

    def norm(x: Tensor, w: Tensor) -> Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * y.to(x.dtype)

    return compiled(norm, [random(rows, cols, dtype=dtype), random(cols, dtype=dtype)])


@generated(_matrices)
def generated_gelu_norm(dtype: str, rows: int, cols: int) -> Call:
    """An expensive loop before the reduction and dropout after it."""

    def norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.dropout(F.layer_norm(F.gelu(x), (cols,), w, b), 0.1, True)

    operands = [random(rows, cols, dtype=dtype), *(random(cols, dtype=dtype) for _ in range(2))]
    return compiled(norm, operands)


_LOGITS = [
    (128, 1000),
    (4096, 1000),
    (512, 50257),
    (4096, 32000),
    (64, 128256),
    (1024, 128256),
    (1024, 10),
    (256, 30522),
    (2048, 50304),
]


@generated(lambda: points({"rows": rows, "vocabulary": cols} for rows, cols in _LOGITS))
def generated_cross_entropy(dtype: str, rows: int, vocabulary: int) -> Call:
    """The mean loss over rows of logits."""
    logits, labels = random(rows, vocabulary, dtype=dtype), indices(rows, below=vocabulary)
    return compiled(lambda x, y: F.cross_entropy(x.float(), y), [logits, labels])


@generated(
    lambda: points(
        {"picked": picked, "cols": cols}
        for picked, cols in (
            (64, 768),
            (2048, 768),
            (8192, 1024),
            (16384, 2048),
            (32768, 4096),
            (512, 1024),
            (4096, 2048),
        )
    )
)
def generated_embedding_norm(dtype: str, picked: int, cols: int) -> Call:
    """Look up rows of a table, add positions, and normalise the sums."""
    words, table = indices(picked, below=30522), random(30522, cols, dtype=dtype)
    place, w, b = (random(n, cols, dtype=dtype).squeeze(0) for n in (picked, 1, 1))

    def embedded(words: Tensor, table: Tensor, place: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(F.embedding(words, table) + place, (cols,), w, b)

    return compiled(embedded, [words, table, place, w, b])


@generated(lambda: points({"size": 2**log2} for log2 in (12, 15, 17, 19, 20, 22, 23, 25, 26)))
def generated_mean_of_squares(dtype: str, size: int) -> Call:
    """Reduce a whole tensor to one number, in several kernels if needed."""
    operands = [random(size, dtype=dtype) for _ in range(2)]
    return compiled(lambda x, y: ((x.float() - y.float()) ** 2).mean(), operands)
