"""Tensors in the layouts of attention and scans: heads transposed, halves rotated, blocks
permuted."""

from __future__ import annotations

from math import prod
from random import Random

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, sweep, tokens, whole, width


def _heads(rng: Random) -> Params | None:
    kind = dtype(rng)
    heads, size = rng.choice([1, 2, 4, 8, 12, 16, 32]), rng.choice([32, 64, 64, 80, 96, 128, 128])
    batch = whole(rng, 1, 64)
    length = 1 if rng.random() < 0.15 else tokens(rng, 16, 8192)
    if not 500 <= batch * length * heads * size <= LARGEST_BYTES // (2 * ITEM_BYTES[kind]):
        return None
    return {"dtype": kind, "batch": batch, "length": length, "heads": heads, "size": size}


@operation(sweep("rotary", 66, _heads))
def rotary(dtype: str, batch: int, length: int, heads: int, size: int) -> Call:
    """Rotary embedding in eager PyTorch: [batch, heads, length, size], transposed from a
    projection, times cosines, and its halves swapped times sines."""
    x = random(batch, length, heads, size, dtype=dtype).transpose(1, 2)
    cos, sin = random(length, size, dtype=dtype), random(length, size, dtype=dtype)

    def call() -> torch.Tensor:
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat((-right, left), -1) * sin

    return call


@operation(sweep("one_transposed", 54, _heads))
def one_transposed(dtype: str, batch: int, length: int, heads: int, size: int) -> Call:
    """The sum of a contiguous [batch, heads, length, size] and one transposed from a projection."""
    x = random(batch, length, heads, size, dtype=dtype).transpose(1, 2)
    y = random(batch, heads, length, size, dtype=dtype)
    return lambda: y + x


def _permuted(rng: Random) -> Params | None:
    kind = dtype(rng)
    rank = rng.choice([3, 4, 4, 5, 5])
    shape = [whole(rng, 2, 128) for _ in range(rank)]
    order = list(range(rank))
    rng.shuffle(order)
    inner = [axis for axis in range(rank - 1) if order[axis + 1] != order[axis] + 1]
    if not inner or not 1000 <= prod(shape) <= LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "shape": shape, "order": order}


@operation(sweep("permuted", 84, _permuted))
def permuted(dtype: str, shape: list[int], order: list[int]) -> Call:
    """A tensor of three to five dimensions, copied to another order."""
    x = random(*shape, dtype=dtype).permute(order)
    return lambda: x.contiguous()


def _scores(rng: Random) -> Params | None:
    kind = rng.choice(["bf16", "fp16", "fp32", "fp32"])
    batch, length = whole(rng, 1, 1024), whole(rng, 16, 2048)
    if not 1000 <= batch * length**2 <= LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "batch": batch, "length": length}


@operation(sweep("masked_scores", 36, _scores))
def masked_scores(dtype: str, batch: int, length: int) -> Call:
    """Scores [batch, length, length], set to -inf by a mask [length, length]."""
    x, mask = random(batch, length, length, dtype=dtype), random(length, length, dtype="bool")
    return lambda: x.masked_fill(mask, -torch.inf)


def _causal(rng: Random) -> Params | None:
    kind, batch, length = dtype(rng), whole(rng, 1, 64), tokens(rng, 16, 8192)
    channels = width(rng, 64, 8192)
    if batch * length * channels > LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {
        "dtype": kind,
        "batch": batch,
        "length": length,
        "channels": channels,
        "taps": 4,
        "transposed": rng.random() < 0.7,
    }


@operation(sweep("causal_convolution", 48, _causal))
def causal_convolution(
    dtype: str, batch: int, length: int, channels: int, taps: int, transposed: bool
) -> Call:
    """A depthwise convolution along [batch, channels, length], as at the start of scans; its input
    is transposed from a projection, or contiguous."""
    x = random(batch, channels, length, dtype=dtype)
    if transposed:
        x = random(batch, length, channels, dtype=dtype).transpose(1, 2)
    weight, bias = random(channels, 1, taps, dtype=dtype), random(channels, dtype=dtype)
    return lambda: F.conv1d(x, weight, bias, padding=taps - 1, groups=channels)
