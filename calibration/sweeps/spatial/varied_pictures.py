"""Batch norms, pooling and interpolation of images of any sides and channels, in both layouts."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, sweep, whole, width
from calibration.sweeps.spatial.pooling import POOLS, RESIZES, Change

CHANGES: dict[str, Change] = {
    **POOLS,
    **RESIZES,
    "max5": lambda x: F.max_pool2d(x, 5, 1, 2),
    "half nearest": lambda x: F.interpolate(x, scale_factor=0.5),
    "corners": lambda x: F.interpolate(x, (80, 112), mode="bilinear", align_corners=True),
    "cubic": lambda x: F.interpolate(x, (72, 56), mode="bicubic"),
}
_LARGEST_RESULT = 80 * 112


def _sizes(rng: Random, most_bytes: int) -> Params | None:
    kind, channels = dtype(rng), width(rng, 1, 1536, 8)
    batch, height, wide = whole(rng, 1, 128), whole(rng, 4, 192), whole(rng, 4, 192)
    area = max(height * wide, _LARGEST_RESULT // 4)
    if batch * channels * area * ITEM_BYTES[kind] > most_bytes:
        return None
    last = rng.random() < 0.5
    return {"dtype": kind, "last": last, "sizes": [batch, channels, height, wide]}


def _laid(sizes: list[int], dtype: str, last: bool, grad: bool) -> Tensor:
    x = random(*sizes, dtype=dtype, grad=grad)
    return channels_last(x, grad) if last else x


def _changed(rng: Random) -> Params | None:
    sizes = _sizes(rng, LARGEST_BYTES // 8)
    if sizes is None or min(sizes["sizes"][2:]) < 8:
        return None
    return {"name": rng.choice(list(CHANGES)), **sizes}


@operation(sweep("varied_picture", 240, _changed))
def varied_picture(name: str, dtype: str, last: bool, sizes: list[int]) -> Call:
    """Pool or resize [batch, channels, height, width]."""
    x = _laid(sizes, dtype, last, False)
    return lambda: CHANGES[name](x)


@operation(sweep("varied_picture_backward", 200, _changed))
def varied_picture_backward(name: str, dtype: str, last: bool, sizes: list[int]) -> Call:
    """The gradient of the picture."""
    x = _laid(sizes, dtype, last, True)
    return backward(CHANGES[name](x), [x])


def _normalised(rng: Random) -> Params | None:
    sizes = _sizes(rng, LARGEST_BYTES // 4)
    return sizes and {**sizes, "mixed": rng.random() < 0.3, "training": rng.random() < 0.5}


def _batch_norm(
    dtype: str, last: bool, sizes: list[int], mixed: bool, training: bool, grad: bool
) -> tuple[Callable[[], Tensor], tuple[Tensor, Tensor, Tensor]]:
    kind, channels = "fp32" if mixed else dtype, sizes[1]
    x = _laid(sizes, dtype, last, grad)
    w, b = random(channels, dtype=kind, grad=grad), random(channels, dtype=kind, grad=grad)
    mean, variance = random(channels, dtype=kind), random(channels, dtype=kind).abs() + 0.5
    return (lambda: F.batch_norm(x, mean, variance, w, b, training)), (x, w, b)


@operation(sweep("varied_batch_norm", 220, _normalised))
def varied_batch_norm(
    dtype: str, last: bool, sizes: list[int], mixed: bool, training: bool
) -> Call:
    """Batch norm by the batch's statistics in training, else by running ones; scale and shift are
    in float32 if `mixed`, else in the dtype of the input."""
    return _batch_norm(dtype, last, sizes, mixed, training, False)[0]


@operation(sweep("varied_batch_norm_backward", 220, _normalised))
def varied_batch_norm_backward(
    dtype: str, last: bool, sizes: list[int], mixed: bool, training: bool
) -> Call:
    """Gradients of input, scale and shift."""
    call, inputs = _batch_norm(dtype, last, sizes, mixed, training, True)
    return backward(call(), inputs)
