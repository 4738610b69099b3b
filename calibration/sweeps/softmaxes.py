"""Softmax and its logarithm, forward and backward, along rows and across them."""

from __future__ import annotations

from random import Random

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, matrix, sweep, whole


def _rows(rng: Random) -> Params:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 8, 160000 if rng.random() < 0.3 else 8192)
    return {"dtype": kind, "rows": rows, "cols": cols}


@operation(sweep("softmax", 102, _rows))
def softmax(dtype: str, rows: int, cols: int) -> Call:
    """Softmax of each row of [rows, cols]."""
    x = random(rows, cols, dtype=dtype)
    return lambda: F.softmax(x, -1)


@operation(sweep("softmax_backward", 84, _rows))
def softmax_backward(dtype: str, rows: int, cols: int) -> Call:
    """Gradient of the input of `softmax`."""
    x = random(rows, cols, dtype=dtype, grad=True)
    return backward(F.softmax(x, -1), [x])


@operation(sweep("log_softmax", 120, _rows))
def log_softmax(dtype: str, rows: int, cols: int) -> Call:
    """Log-softmax of each row of [rows, cols]."""
    x = random(rows, cols, dtype=dtype)
    return lambda: F.log_softmax(x, -1)


@operation(sweep("log_softmax_backward", 110, _rows))
def log_softmax_backward(dtype: str, rows: int, cols: int) -> Call:
    """Gradient of the input of `log_softmax`."""
    x = random(rows, cols, dtype=dtype, grad=True)
    return backward(F.log_softmax(x, -1), [x])


def _halves(rng: Random) -> Params:
    kind = rng.choice(["bf16", "fp16"])
    rows, cols = matrix(rng, kind, 16, 8192, LARGEST_BYTES // 2)
    return {"dtype": kind, "rows": rows, "cols": cols}


@operation(sweep("widening_softmax", 30, _halves))
def widening_softmax(dtype: str, rows: int, cols: int) -> Call:
    """Softmax of [rows, cols] from half precision to float32, as for scores of language models."""
    x = random(rows, cols, dtype=dtype)
    return lambda: F.softmax(x, -1, dtype=torch.float32)


def _across(rng: Random) -> Params | None:
    kind = dtype(rng)
    outer, cols, inner = whole(rng, 1, 256), whole(rng, 4, 2048), whole(rng, 16, 65536)
    if not 1000 <= outer * cols * inner <= LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "outer": outer, "cols": cols, "inner": inner}


@operation(sweep("softmax_across", 110, _across))
def softmax_across(dtype: str, outer: int, cols: int, inner: int) -> Call:
    """Softmax of [outer, cols, inner] over the middle dimension, as over the channels of an
    image."""
    x = random(outer, cols, inner, dtype=dtype)
    return lambda: F.softmax(x, 1)
