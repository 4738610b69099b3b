"""Sums over all but one dimension, as in gradients of biases and scales."""

from __future__ import annotations

from random import Random

import torch

from calibration.sweeps.operands import channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, sweep, whole, width


def _columns(rng: Random) -> Params | None:
    kind = dtype(rng)
    rows, cols = whole(rng, 8, 1000000), width(rng, 1, 16384, 32)
    if not 2**14 <= rows * cols <= LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "rows": rows, "cols": cols, "keep": rng.random() < 0.5}


@operation(sweep("column_sum", 180, _columns))
def column_sum(dtype: str, rows: int, cols: int, keep: bool) -> Call:
    """Sum [rows, cols] to [cols], or to [1, cols]."""
    x = random(rows, cols, dtype=dtype)
    return lambda: x.sum(0, keepdim=keep)


def _picture(rng: Random) -> Params | None:
    kind = dtype(rng)
    batch, channels, side = whole(rng, 1, 256), width(rng, 8, 2048, 32), whole(rng, 7, 256)
    if batch * channels * side**2 > LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.5,
        "batch": batch,
        "channels": channels,
        "side": side,
    }


@operation(sweep("channel_sum", 80, _picture))
def channel_sum(dtype: str, last: bool, batch: int, channels: int, side: int) -> Call:
    """Sum [batch, channels, side, side] to [channels]; `last` means channels last in memory."""
    x = random(batch, channels, side, side, dtype=dtype)
    x = channels_last(x) if last else x
    return lambda: torch.sum(x, (0, 2, 3))
