"""Norms and softmaxes of random shapes, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.blind.draws import blind, laid, shape, size
from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, whole


def _rows(rng: Random) -> Params | None:
    kind, dims = dtype(rng), rng.choice([2, 3])
    sizes = shape(rng, dims, kind, 4096)
    if sizes is None or not 4 <= sizes[-1] <= 32768:
        return None
    layout = rng.choice(["contiguous", "contiguous", "transposed", "slice"])
    return {"dtype": kind, "sizes": sizes, "layout": layout}


def _affine(width: int, dtype: str, grad: bool = False) -> tuple[Tensor, Tensor]:
    return random(width, dtype=dtype, grad=grad), random(width, dtype=dtype, grad=grad)


@blind(20, _rows)
def blind_layer_norm(dtype: str, sizes: list[int], layout: str) -> Call:
    """Layer norm over the last dimension, with scale and shift."""
    x, (w, b) = laid(sizes, dtype, layout), _affine(sizes[-1], dtype)
    return lambda: F.layer_norm(x, sizes[-1:], w, b)


@blind(16, _rows)
def blind_layer_norm_backward(dtype: str, sizes: list[int], layout: str) -> Call:
    """Gradients of input, scale and shift."""
    x, (w, b) = laid(sizes, dtype, layout, True), _affine(sizes[-1], dtype, True)
    return backward(F.layer_norm(x, sizes[-1:], w, b), (x, w, b))


@blind(12, _rows)
def blind_rms_norm(dtype: str, sizes: list[int], layout: str) -> Call:
    """RMS norm over the last dimension, with a scale."""
    x, w = laid(sizes, dtype, layout), random(sizes[-1], dtype=dtype)
    return lambda: F.rms_norm(x, sizes[-1:], w)


@blind(8, _rows)
def blind_rms_norm_backward(dtype: str, sizes: list[int], layout: str) -> Call:
    """Gradients of input and scale."""
    x, w = laid(sizes, dtype, layout, True), random(sizes[-1], dtype=dtype, grad=True)
    return backward(F.rms_norm(x, sizes[-1:], w), (x, w))


def _picture(rng: Random, groups: bool = False) -> Params | None:
    kind, channels = dtype(rng), size(rng, 3, 2048)
    batch, side = whole(rng, 1, 256), whole(rng, 4, 192)
    if batch * channels * side**2 * ITEM_BYTES[kind] > LARGEST_BYTES / 2:
        return None
    point: Params = {
        "dtype": kind,
        "sizes": [batch, channels, side, side],
        "layout": rng.choice(["contiguous", "channels_last"]),
    }
    if not groups:
        return {**point, "training": rng.random() < 0.6}
    return {**point, "groups": rng.choice([g for g in (1, 2, 4, 8, 16, 32) if channels % g == 0])}


def _batch_norm(sizes: list[int], dtype: str, layout: str, training: bool, grad: bool) -> Any:
    x, (w, b) = laid(sizes, dtype, layout, grad), _affine(sizes[1], dtype, grad)
    mean, variance = random(sizes[1], dtype=dtype), random(sizes[1], dtype=dtype).abs() + 0.5
    return (lambda: F.batch_norm(x, mean, variance, w, b, training)), (x, w, b)


@blind(20, _picture)
def blind_batch_norm(dtype: str, sizes: list[int], layout: str, training: bool) -> Call:
    """Batch norm with the batch's statistics in training, else with the running statistics."""
    return _batch_norm(sizes, dtype, layout, training, False)[0]


@blind(14, _picture)
def blind_batch_norm_backward(dtype: str, sizes: list[int], layout: str, training: bool) -> Call:
    """Gradients of input, scale and shift."""
    call, inputs = _batch_norm(sizes, dtype, layout, training, True)
    return backward(call(), inputs)


@blind(12, lambda rng: _picture(rng, groups=True))
def blind_group_norm(dtype: str, sizes: list[int], layout: str, groups: int) -> Call:
    """Group norm, with scale and shift."""
    x, (w, b) = laid(sizes, dtype, layout), _affine(sizes[1], dtype)
    return lambda: F.group_norm(x, groups, w, b)


@blind(10, lambda rng: _picture(rng, groups=True))
def blind_group_norm_backward(dtype: str, sizes: list[int], layout: str, groups: int) -> Call:
    """Gradients of input, scale and shift."""
    x, (w, b) = laid(sizes, dtype, layout, True), _affine(sizes[1], dtype, True)
    return backward(F.group_norm(x, groups, w, b), (x, w, b))


SOFTMAXES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
}


def _softmax(rng: Random) -> Params | None:
    kind, dims = dtype(rng), rng.choice([2, 3, 4])
    sizes = shape(rng, dims, kind)
    layout = rng.choice(["contiguous", "contiguous", "transposed", "slice"])
    if sizes is None:
        return None
    return {
        "name": rng.choice(list(SOFTMAXES)),
        "dtype": kind,
        "sizes": sizes,
        "dim": rng.choice([dims - 1, dims - 1, rng.randrange(dims)]),
        "layout": layout,
    }


@blind(22, _softmax)
def blind_softmax(name: str, dtype: str, sizes: list[int], dim: int, layout: str) -> Call:
    """Softmax or log-softmax over one dimension."""
    x, function = laid(sizes, dtype, layout), SOFTMAXES[name]
    return lambda: function(x, dim)


@blind(12, _softmax)
def blind_softmax_backward(name: str, dtype: str, sizes: list[int], dim: int, layout: str) -> Call:
    """The gradient of the input."""
    x = laid(sizes, dtype, layout, grad=True)
    return backward(SOFTMAXES[name](x, dim), [x])
