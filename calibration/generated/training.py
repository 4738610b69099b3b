"""Forward and backward: reductions across rows, gradients of weights, statistics of batches."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.generated.compiled import Trained, compiled, generated, points
from calibration.sweeps.operands import channels_last, indices, random
from calibration.sweeps.registry import Call, Params

_MATRICES = [
    (64, 768),
    (512, 768),
    (4096, 1024),
    (8192, 4096),
    (32768, 1024),
    (128, 2048),
    (1024, 768),
    (1024, 4096),
    (8192, 768),
    (2048, 11008),
]


def _matrices() -> list[Params]:
    return points({"rows": rows, "cols": cols} for rows, cols in _MATRICES)


def _with_weights(dtype: str, rows: int, cols: int, weights: int) -> list[Tensor]:
    x = random(rows, cols, dtype=dtype, grad=True)
    return [x, *(random(cols, dtype=dtype, grad=True) for _ in range(weights))]


@generated(_matrices)
def generated_column_sums(dtype: str, rows: int, cols: int) -> Call:
    """Sum an elementwise product over the rows, as in the gradient of a bias."""
    operands = [random(rows, cols, dtype=dtype) for _ in range(2)]
    return compiled(lambda x, y: (x * y).sum(0), operands)


@generated(_matrices)
def generated_train_bias_gelu(dtype: str, rows: int, cols: int) -> Call:
    """A bias and GELU."""
    return Trained(lambda x, b: F.gelu(x + b), _with_weights(dtype, rows, cols, 1))


@generated(_matrices)
def generated_train_layer_norm(dtype: str, rows: int, cols: int) -> Call:
    """Layer norm of a sum, with scale and shift."""

    def norm(x: Tensor, w: Tensor, b: Tensor, y: Tensor) -> Tensor:
        return F.layer_norm(x + y, (cols,), w, b)

    operands = [*_with_weights(dtype, rows, cols, 2), random(rows, cols, dtype=dtype)]
    return Trained(norm, operands)


@generated(_matrices)
def generated_train_rms_norm(dtype: str, rows: int, cols: int) -> Call:
    """RMS norm in fp32, as in language models."""

    def norm(x: Tensor, w: Tensor) -> Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * y.to(x.dtype)

    return Trained(norm, _with_weights(dtype, rows, cols, 1))


@generated(_matrices)
def generated_train_swiglu(dtype: str, rows: int, cols: int) -> Call:
    """Gate one tensor by another."""
    operands = [random(rows, cols, dtype=dtype, grad=True) for _ in range(2)]
    return Trained(lambda gate, up: F.silu(gate) * up, operands)


@generated(_matrices)
def generated_train_dropout(dtype: str, rows: int, cols: int) -> Call:
    """Dropout and a residual."""
    operands = [random(rows, cols, dtype=dtype, grad=True) for _ in range(2)]
    return Trained(lambda x, y: F.dropout(torch.tanh(x), 0.1, True) + y, operands)


@generated(
    lambda: points(
        {"rows": rows, "vocabulary": cols}
        for rows, cols in ((128, 1000), (4096, 1000), (512, 50257), (2048, 32000), (1024, 128256))
    )
)
def generated_train_cross_entropy(dtype: str, rows: int, vocabulary: int) -> Call:
    """The mean loss over rows of logits, and their gradient."""
    labels = indices(rows, below=vocabulary)
    logits = random(rows, vocabulary, dtype=dtype, grad=True)
    return Trained(lambda x, y: F.cross_entropy(x.float(), y), [logits, labels])


@generated(
    lambda: points(
        {"heads": heads, "queries": queries}
        for heads, queries in (
            (12, 64),
            (96, 128),
            (48, 512),
            (64, 1024),
            (16, 2048),
            (192, 196),
            (128, 256),
        )
    )
)
def generated_train_softmax(dtype: str, heads: int, queries: int) -> Call:
    """Softmax of scaled attention scores."""
    x = random(heads, queries, queries, dtype=dtype, grad=True)
    return Trained(lambda x: torch.softmax(x * 0.125, -1), [x])


@generated(
    lambda: points(
        {"batch": batch, "channels": channels, "side": side, "last": last}
        for batch, channels, side, last in (
            (8, 64, 56, True),
            (8, 256, 14, False),
            (32, 64, 56, False),
            (32, 512, 14, True),
            (64, 256, 56, True),
            (64, 128, 28, False),
            (2, 64, 112, False),
            (32, 1024, 14, False),
            (16, 256, 28, True),
            (128, 512, 7, True),
        )
    )
)
def generated_train_batch_norm(
    dtype: str, batch: int, channels: int, side: int, last: bool
) -> Call:
    """Batch norm with the batch's statistics, then ReLU; images with channels last or first."""
    x = random(batch, channels, side, side, dtype=dtype, grad=True)
    x = channels_last(x, grad=True) if last else x
    w, b = (random(channels, dtype="fp32", grad=True) for _ in range(2))

    def norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.relu(F.batch_norm(x, None, None, w, b, training=True))

    return Trained(norm, [x, w, b])


@generated(
    lambda: points(
        {"picked": picked, "cols": cols} for picked, cols in ((256, 768), (4096, 768), (8192, 2048))
    )
)
def generated_train_embedding(dtype: str, picked: int, cols: int) -> Call:
    """Look up and scale rows of a table; the gradient is added into rows that may repeat."""
    table, words = random(30522, cols, dtype=dtype, grad=True), indices(picked, below=30522)
    return Trained(lambda table, words: F.embedding(words, table) * 2, [table, words])
