"""Copies: clones, casts, transposes, slices, concatenations, padding."""

from __future__ import annotations

from random import Random

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import DTYPES, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import (
    ITEM_BYTES,
    LARGEST_BYTES,
    dtype,
    elements,
    matrix,
    pick,
    sweep,
    tokens,
    whole,
    width,
)


def _vector(rng: Random) -> Params:
    kind = dtype(rng)
    return {"dtype": kind, "elements": elements(rng, kind)}


@operation(sweep("clone", 30, _vector))
def clone(dtype: str, elements: int) -> Call:
    """A copy of a whole tensor."""
    x = random(elements, dtype=dtype)
    return lambda: x.clone()


def _cast(rng: Random) -> Params:
    left, right = rng.sample(["bf16", "fp16", "fp32", "bf16", "fp32", "int64", "bool"], 2)
    wider = max(left, right, key=lambda d: ITEM_BYTES[d])
    return {"left": left, "right": right, "elements": elements(rng, wider)}


@operation(sweep("cast", 66, lambda rng: p if (p := _cast(rng))["left"] != p["right"] else None))
def cast(left: str, right: str, elements: int) -> Call:
    """A cast from one dtype to another."""
    x, kind = random(elements, dtype=left), DTYPES[right]
    return lambda: x.to(kind)


def _transposed(rng: Random) -> Params | None:
    kind = dtype(rng)
    batch = 1 if rng.random() < 0.4 else whole(rng, 2, 512)
    rows, cols = matrix(rng, kind, 4, 16384, max(4096, LARGEST_BYTES // batch))
    if rows == 1 or batch * rows * cols > LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "batch": batch, "rows": rows, "cols": cols}


@operation(sweep("transpose", 160, _transposed))
def transpose(dtype: str, batch: int, rows: int, cols: int) -> Call:
    """Copy [batch, rows, cols] to a contiguous [batch, cols, rows]."""
    x = random(batch, rows, cols, dtype=dtype)
    return lambda: x.transpose(1, 2).contiguous()


def _split(rng: Random) -> Params | None:
    kind = dtype(rng)
    heads, width = rng.choice([4, 6, 8, 12, 16, 32]), rng.choice([32, 64, 64, 80, 96, 128])
    batch, length = whole(rng, 1, 256), tokens(rng, 16, 8192)
    if not 1000 <= batch * length * heads * width <= LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "batch": batch, "length": length, "heads": heads, "width": width}


@operation(sweep("split_heads", 42, _split))
def split_heads(dtype: str, batch: int, length: int, heads: int, width: int) -> Call:
    """Copy [batch, length, heads, width] to a contiguous [batch, heads, length, width]."""
    x = random(batch, length, heads, width, dtype=dtype)
    return lambda: x.transpose(1, 2).contiguous()


@operation(sweep("repeat_heads", 60, _split))
def repeat_heads(dtype: str, batch: int, length: int, heads: int, width: int) -> Call:
    """Repeat a quarter of the heads four times each: [batch, heads, length, width]."""
    x = random(batch, -(-heads // 4), 1, length, width, dtype=dtype)
    return lambda: x.expand(-1, -1, 4, -1, -1).reshape(batch, -1, length, width)


def _picture(rng: Random) -> Params | None:
    kind = dtype(rng)
    batch, channels, side = whole(rng, 1, 128), width(rng, 3, 1024, 32), whole(rng, 7, 224)
    if batch * channels * side**2 > LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "batch": batch, "channels": channels, "side": side}


@operation(sweep("to_channels_last", 90, _picture))
def to_channels_last(dtype: str, batch: int, channels: int, side: int) -> Call:
    """Copy [batch, channels, side, side] to channels last."""
    x = random(batch, channels, side, side, dtype=dtype)
    return lambda: x.contiguous(memory_format=torch.channels_last)


def _slice(rng: Random) -> Params:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 16, 8192, LARGEST_BYTES // 4)
    return {"dtype": kind, "rows": rows, "cols": cols, "wider": rng.choice([2, 3, 4])}


@operation(sweep("slice_out", 60, _slice))
def slice_out(dtype: str, rows: int, cols: int, wider: int) -> Call:
    """Copy a slice [rows, cols] of a tensor `wider` times as wide."""
    x = random(rows, cols * wider, dtype=dtype)[:, :cols]
    return lambda: x.contiguous()


@operation(sweep("slice_in", 80, _slice))
def slice_in(dtype: str, rows: int, cols: int, wider: int) -> Call:
    """Copy [rows, cols] into a slice of a tensor `wider` times as wide, as into a cache."""
    place, x = random(rows, cols * wider, dtype=dtype)[:, -cols:], random(rows, cols, dtype=dtype)
    return lambda: place.copy_(x)


def _joined(rng: Random) -> Params:
    kind, count = dtype(rng), rng.randint(2, 8)
    rows, cols = matrix(rng, kind, 8, 8192, LARGEST_BYTES // count)
    return {"dtype": kind, "count": count, "dim": rng.choice([0, 1]), "rows": rows, "cols": cols}


@operation(sweep("join", 72, _joined))
def join(dtype: str, count: int, dim: int, rows: int, cols: int) -> Call:
    """Concatenate `count` tensors [rows, cols], one after another or side by side."""
    parts = [random(rows, cols, dtype=dtype) for _ in range(count)]
    return lambda: torch.cat(parts, dim)


@operation(sweep("stack", 80, _joined))
def stack(dtype: str, count: int, dim: int, rows: int, cols: int) -> Call:
    """Stack `count` tensors [rows, cols] along a new dimension."""
    parts = [random(rows, cols, dtype=dtype) for _ in range(count)]
    return lambda: torch.stack(parts, dim)


def _framed(rng: Random) -> Params | None:
    point = _picture(rng)
    return point and {**point, "name": pick(rng, {"pad": 2.0, "roll": 2.0, "flip": 1.0})}


@operation(sweep("move_pixels", 30, _framed))
def move_pixels(dtype: str, batch: int, channels: int, side: int, name: str) -> Call:
    """Pad an image by one on all sides, roll it by three along both sides, or flip it."""
    x = random(batch, channels, side, side, dtype=dtype)
    if name == "pad":
        return lambda: F.pad(x, (1, 1, 1, 1))
    if name == "roll":
        return lambda: torch.roll(x, (-3, -3), (2, 3))
    return lambda: torch.flip(x, (3,))
