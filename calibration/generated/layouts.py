"""Loops that read and write in different orders: transposes, slices, concatenations, images,
rotations."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.generated.compiled import compiled, generated, points
from calibration.sweeps.operands import channels_last, random
from calibration.sweeps.registry import Call, Params

_MATRICES = [
    (64, 64),
    (512, 768),
    (2048, 1024),
    (4096, 4096),
    (16384, 4096),
    (128, 1024),
    (1024, 3072),
    (8192, 1024),
    (8192, 2560),
]


def _matrices() -> list[Params]:
    return points({"rows": rows, "cols": cols} for rows, cols in _MATRICES)


@generated(_matrices)
def generated_transposed_add(dtype: str, rows: int, cols: int) -> Call:
    """Add a row-major and a column-major tensor."""
    operands = [random(rows, cols, dtype=dtype), random(cols, rows, dtype=dtype)]
    return compiled(lambda x, y: x + y.t(), operands)


@generated(_matrices)
def generated_strided(dtype: str, rows: int, cols: int) -> Call:
    """Read every other column."""
    return compiled(lambda x: torch.relu(x[:, ::2]) * 2, [random(rows, 2 * cols, dtype=dtype)])


@generated(_matrices)
def generated_concat(dtype: str, rows: int, cols: int) -> Call:
    """Concatenate two tensors side by side, then clip."""
    operands = [random(rows, cols, dtype=dtype) for _ in range(2)]
    return compiled(lambda x, y: torch.relu(torch.cat([x, y], dim=-1)), operands)


def _heads() -> list[Params]:
    return points(
        {"batch": batch, "seq": seq, "heads": heads, "width": width}
        for batch, seq, heads, width in (
            (32, 1, 8, 128),
            (1, 512, 32, 64),
            (4, 1024, 12, 64),
            (4, 2048, 8, 128),
            (4, 2048, 32, 128),
            (8, 128, 12, 64),
            (2, 1024, 16, 128),
            (1, 4096, 32, 128),
        )
    )


@generated(_heads)
def generated_rotary(dtype: str, batch: int, seq: int, heads: int, width: int) -> Call:
    """Rotate each head of [batch, seq, heads, width] by the angle of its position."""

    def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        low, high = x.chunk(2, dim=-1)
        return x * cosine[:, None] + torch.cat((-high, low), dim=-1) * sine[:, None]

    operands = [random(batch, seq, heads, width, dtype=dtype)]
    return compiled(turned, [*operands, *(random(seq, width, dtype=dtype) for _ in range(2))])


@generated(_heads)
def generated_heads_apart(dtype: str, batch: int, seq: int, heads: int, width: int) -> Call:
    """Scale [batch, seq, heads, width] and copy it to [batch, heads, seq, width]."""
    x = random(batch, seq, heads, width, dtype=dtype)
    return compiled(lambda x: (x * 0.125).transpose(1, 2).contiguous(), [x])


_PICTURES = [
    (1, 64, 56),
    (8, 256, 14),
    (8, 96, 56),
    (32, 512, 28),
    (64, 128, 56),
    (1, 512, 7),
    (16, 64, 112),
    (32, 256, 28),
    (64, 2048, 7),
    (2, 320, 64),
]


def _pictures() -> list[Params]:
    return points(
        {"batch": batch, "channels": channels, "side": side} for batch, channels, side in _PICTURES
    )


@generated(_pictures)
def generated_to_channels_last(dtype: str, batch: int, channels: int, side: int) -> Call:
    """Copy images to channels last."""

    def laid(x: Tensor) -> Tensor:
        return torch.relu(x).contiguous(memory_format=torch.channels_last)

    return compiled(laid, [random(batch, channels, side, side, dtype=dtype)])


@generated(_pictures)
def generated_batch_norm_relu(dtype: str, batch: int, channels: int, side: int) -> Call:
    """Batch norm in inference, with a residual, channels last."""
    x, y = (channels_last(random(batch, channels, side, side, dtype=dtype)) for _ in range(2))
    mean, weight, bias = (random(channels, dtype=dtype) for _ in range(3))

    def norm(x: Tensor, y: Tensor, mean: Tensor, var: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.relu(F.batch_norm(x, mean, var, w, b) + y)

    return compiled(norm, [x, y, mean, random(channels, dtype=dtype).abs(), weight, bias])


@generated(_pictures)
def generated_pooled(dtype: str, batch: int, channels: int, side: int) -> Call:
    """The mean over each channel's image, channels last."""
    x = channels_last(random(batch, channels, side, side, dtype=dtype))
    return compiled(lambda x: F.silu(x).mean((2, 3)), [x])


@generated(_pictures)
def generated_group_norm(dtype: str, batch: int, channels: int, side: int) -> Call:
    """A group norm of 32 groups, followed by SiLU."""
    operands = [
        random(batch, channels, side, side, dtype=dtype),
        *(random(channels, dtype=dtype) for _ in range(2)),
    ]
    return compiled(lambda x, w, b: F.silu(F.group_norm(x, 32, w, b)), operands)


@generated(_pictures)
def generated_max_pool(dtype: str, batch: int, channels: int, side: int) -> Call:
    """A ReLU, then max pooling of 3×3 windows at stride 2, channels last."""
    x = channels_last(random(batch, channels, side, side, dtype=dtype))
    return compiled(lambda x: F.max_pool2d(torch.relu(x), 3, 2, 1), [x])
