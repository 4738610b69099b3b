"""Layer, RMS, batch and group norm, forward and backward."""

from __future__ import annotations

from random import Random

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import (
    ITEM_BYTES,
    LARGEST_BYTES,
    dtype,
    elements,
    matrix,
    sweep,
    whole,
    width,
)


def _rows(rng: Random) -> Params:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 32, 16384)
    return {"dtype": kind, "rows": rows, "cols": cols}


@operation(sweep("layer_norm", 96, _rows))
def layer_norm(dtype: str, rows: int, cols: int) -> Call:
    """Layer norm of the rows of [rows, cols], with scale and shift."""
    x = random(rows, cols, dtype=dtype)
    w, b = random(cols, dtype=dtype), random(cols, dtype=dtype)
    return lambda: F.layer_norm(x, (cols,), w, b)


@operation(sweep("layer_norm_backward", 96, _rows))
def layer_norm_backward(dtype: str, rows: int, cols: int) -> Call:
    """Gradients of input, scale and shift."""
    x = random(rows, cols, dtype=dtype, grad=True)
    w, b = random(cols, dtype=dtype, grad=True), random(cols, dtype=dtype, grad=True)
    return backward(F.layer_norm(x, (cols,), w, b), (x, w, b))


@operation(sweep("rms_norm", 84, _rows))
def rms_norm(dtype: str, rows: int, cols: int) -> Call:
    """RMS norm of the rows of [rows, cols], with a scale."""
    x, w = random(rows, cols, dtype=dtype), random(cols, dtype=dtype)
    return lambda: F.rms_norm(x, (cols,), w, 1e-6)


@operation(sweep("rms_norm_backward", 72, _rows))
def rms_norm_backward(dtype: str, rows: int, cols: int) -> Call:
    """Gradients of input and scale."""
    x, w = random(rows, cols, dtype=dtype, grad=True), random(cols, dtype=dtype, grad=True)
    return backward(F.rms_norm(x, (cols,), w, 1e-6), (x, w))


def _picture(rng: Random) -> Params | None:
    kind = dtype(rng)
    total, channels = elements(rng, kind), width(rng, 16, 2048, 32)
    side = whole(rng, 4, 160)
    batch = round(total / (channels * side * side))
    if not 1 <= batch <= 256 or batch * channels * side**2 * ITEM_BYTES[kind] > LARGEST_BYTES:
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.5,
        "batch": batch,
        "channels": channels,
        "side": side,
    }


def _pictures(dtype: str, last: bool, batch: int, channels: int, side: int, grad: bool) -> Tensor:
    x = random(batch, channels, side, side, dtype=dtype, grad=grad)
    return channels_last(x, grad) if last else x


def _weights(channels: int, grad: bool) -> tuple[Tensor, Tensor]:
    """Scale and shift in float32, as under autocast, but not after `module.to`."""
    return random(channels, dtype="fp32", grad=grad), random(channels, dtype="fp32", grad=grad)


def _statistics(channels: int) -> tuple[Tensor, Tensor]:
    return random(channels, dtype="fp32"), random(channels, dtype="fp32").abs() + 0.5


@operation(sweep("batch_norm", 160, _picture))
def batch_norm(dtype: str, last: bool, batch: int, channels: int, side: int) -> Call:
    """Batch norm of [batch, channels, side, side] in training, by the batch's statistics, which
    update the running ones."""
    x = _pictures(dtype, last, batch, channels, side, False)
    (w, b), (mean, variance) = _weights(channels, False), _statistics(channels)
    return lambda: F.batch_norm(x, mean, variance, w, b, True)


@operation(sweep("batch_norm_inference", 140, _picture))
def batch_norm_inference(dtype: str, last: bool, batch: int, channels: int, side: int) -> Call:
    """Batch norm of [batch, channels, side, side] by the running statistics."""
    x = _pictures(dtype, last, batch, channels, side, False)
    (w, b), (mean, variance) = _weights(channels, False), _statistics(channels)
    return lambda: F.batch_norm(x, mean, variance, w, b, False)


@operation(sweep("batch_norm_backward", 180, _picture))
def batch_norm_backward(dtype: str, last: bool, batch: int, channels: int, side: int) -> Call:
    """Gradients of input, scale and shift in training."""
    x = _pictures(dtype, last, batch, channels, side, True)
    (w, b), (mean, variance) = _weights(channels, True), _statistics(channels)
    return backward(F.batch_norm(x, mean, variance, w, b, True), (x, w, b))


def _grouped(rng: Random) -> Params | None:
    point = _picture(rng)
    if point is None or point["channels"] % 32:
        return None
    return {**point, "groups": rng.choice([32, 32, 16, 8, 1])}


@operation(sweep("group_norm", 54, _grouped))
def group_norm(dtype: str, last: bool, batch: int, channels: int, side: int, groups: int) -> Call:
    """Group norm of [batch, channels, side, side]."""
    x = _pictures(dtype, last, batch, channels, side, False)
    w, b = random(channels, dtype=dtype), random(channels, dtype=dtype)
    return lambda: F.group_norm(x, groups, w, b)


@operation(sweep("group_norm_backward", 54, _grouped))
def group_norm_backward(
    dtype: str, last: bool, batch: int, channels: int, side: int, groups: int
) -> Call:
    """Gradients of input, scale and shift."""
    x = _pictures(dtype, last, batch, channels, side, True)
    w, b = random(channels, dtype=dtype, grad=True), random(channels, dtype=dtype, grad=True)
    return backward(F.group_norm(x, groups, w, b), (x, w, b))
