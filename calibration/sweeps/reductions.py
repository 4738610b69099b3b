"""Sums, means, maxima, norms and variances along an axis, and of whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import (
    ITEM_BYTES,
    LARGEST_BYTES,
    dtype,
    elements,
    matrix,
    pick,
    sweep,
    whole,
)

REDUCE: dict[str, Callable[[torch.Tensor, Any], torch.Tensor]] = {
    "sum": lambda x, dim: x.sum(dim),
    "mean": lambda x, dim: x.mean(dim),
    "amax": lambda x, dim: x.amax(dim),
    "argmax": lambda x, dim: x.argmax(dim),
    "norm": lambda x, dim: torch.linalg.vector_norm(x, dim=dim),
    "var": lambda x, dim: x.var(dim),
    "max": lambda x, dim: x.max(dim).values,
}
_WEIGHTS = {
    "sum": 4.0,
    "mean": 3.0,
    "amax": 1.5,
    "argmax": 1.0,
    "norm": 1.5,
    "var": 1.5,
    "max": 1.0,
}
WHOLE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": lambda x: x.amax(),
    "norm": lambda x: torch.linalg.vector_norm(x),
    "argmax": torch.argmax,
    "var": torch.var,
}


def _matrix(rng: Random) -> Params:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 4, 65536)
    return {
        "name": pick(rng, _WEIGHTS),
        "dtype": kind,
        "rows": rows,
        "cols": cols,
        "dim": rng.choice([0, 1, 1]),
    }


@operation(sweep("reduce", 240, _matrix))
def reduce(name: str, dtype: str, rows: int, cols: int, dim: int) -> Call:
    """Reduce [rows, cols] along one of its dimensions."""
    x, function = random(rows, cols, dtype=dtype), REDUCE[name]
    return lambda: function(x, dim)


def _middle(rng: Random) -> Params | None:
    kind = dtype(rng)
    outer, middle, inner = whole(rng, 1, 512), whole(rng, 4, 8192), whole(rng, 4, 8192)
    if not 1000 <= outer * middle * inner <= LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {
        "name": rng.choice(["sum", "mean", "amax", "norm"]),
        "dtype": kind,
        "outer": outer,
        "middle": middle,
        "inner": inner,
        "outermost": rng.random() < 0.4,
    }


@operation(sweep("reduce_middle", 250, _middle))
def reduce_middle(
    name: str, dtype: str, outer: int, middle: int, inner: int, outermost: bool
) -> Call:
    """Reduce [outer, middle, inner] along its middle dimension, or along the first and the last
    one, like the gradient of a channel's bias."""
    x, function = random(outer, middle, inner, dtype=dtype), REDUCE[name]
    dim = (0, 2) if outermost else 1
    return lambda: function(x, dim)


def _whole(rng: Random) -> Params:
    kind = dtype(rng)
    return {"name": rng.choice(list(WHOLE)), "dtype": kind, "elements": elements(rng, kind)}


@operation(sweep("reduce_all", 200, _whole))
def reduce_all(name: str, dtype: str, elements: int) -> Call:
    """Reduce a whole tensor to one value."""
    x, function = random(elements, dtype=dtype), WHOLE[name]
    return lambda: function(x)
