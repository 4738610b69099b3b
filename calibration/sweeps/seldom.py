"""Ops that networks rarely call, a few points each: distances, diagonals, masked scatters."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, indices, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import LARGEST_BYTES, pick, sweep, whole

_CALLS: dict[str, Callable[[int, int, str], Call]] = {}


def _seldom(make: Callable[[int, int, str], Call]) -> Callable[[int, int, str], Call]:
    _CALLS[make.__name__.strip("_")] = make
    return make


def _drawn(rng: Random) -> Params | None:
    rows, cols = whole(rng, 8, 8192), whole(rng, 8, 2048)
    if rows * cols > LARGEST_BYTES // 16 or rows * cols < 2**14:
        return None
    name = pick(rng, dict.fromkeys(_CALLS, 1.0))
    if name in ("diag_embed", "trilinear") and rows * cols**2 > LARGEST_BYTES // 8:
        return None
    if name == "cdist" and rows**2 > LARGEST_BYTES // 16:
        return None
    return {"name": name, "dtype": rng.choice(["fp32", "bf16", "fp32"]), "rows": rows, "cols": cols}


@_seldom
def _diag_embed(rows: int, cols: int, dtype: str) -> Call:
    x = random(rows, cols, dtype=dtype)
    return lambda: torch.diag_embed(x)


@_seldom
def _dist(rows: int, cols: int, dtype: str) -> Call:
    x, y = random(rows, cols, dtype=dtype), random(rows, cols, dtype=dtype)
    return lambda: torch.dist(x, y)


@_seldom
def _renorm(rows: int, cols: int, dtype: str) -> Call:
    x = random(rows, cols, dtype=dtype)
    return lambda: torch.renorm(x, 2, 0, 1.0)


@_seldom
def _trilinear(rows: int, cols: int, dtype: str) -> Call:
    x, y = random(rows, cols, dtype="fp32"), random(rows, cols, dtype="fp32")
    w = random(8, cols, cols, dtype="fp32")
    return lambda: F.bilinear(x, y, w)


@_seldom
def _cdist(rows: int, cols: int, dtype: str) -> Call:
    x, y = random(rows, cols, dtype="fp32"), random(rows, cols, dtype="fp32")
    return lambda: torch.cdist(x, y)


@_seldom
def _normal(rows: int, cols: int, dtype: str) -> Call:
    x, y = random(rows, cols, dtype=dtype), torch.rand(rows, cols) + 0.1
    return lambda: torch.normal(x, y)


@_seldom
def _masked_scatter(rows: int, cols: int, dtype: str) -> Call:
    x, y = random(rows, cols, dtype=dtype), random(rows, cols, dtype=dtype)
    mask = random(rows, cols, dtype="bool")
    return lambda: torch.masked_scatter(x, mask, y)


@_seldom
def _masked_scatter_backward(rows: int, cols: int, dtype: str) -> Call:
    x, y = (random(rows, cols, dtype=dtype, grad=True) for _ in range(2))
    mask = random(rows, cols, dtype="bool")
    return backward(torch.masked_scatter(x, mask, y), (x, y))


@_seldom
def _cross(rows: int, cols: int, dtype: str) -> Call:
    x, y = random(rows * cols, 3, dtype="fp32"), random(rows * cols, 3, dtype="fp32")
    return lambda: torch.linalg.cross(x, y)


@_seldom
def _index_put(rows: int, cols: int, dtype: str) -> Call:
    x, y = random(rows, cols, dtype=dtype), random(rows, cols, dtype=dtype)
    where = indices(rows, below=rows)

    def run() -> Tensor:
        return x.index_put_((where,), y, accumulate=True)

    return run


@_seldom
def _take_along(rows: int, cols: int, dtype: str) -> Call:
    x, where = random(rows, cols, dtype=dtype), indices(rows, cols, below=rows)
    return lambda: torch.gather(x, 0, where)


@_seldom
def _scatter_add(rows: int, cols: int, dtype: str) -> Call:
    x, where = random(rows, cols, dtype=dtype), indices(rows, cols, below=rows)
    y = random(rows, cols, dtype=dtype)
    return lambda: torch.scatter_add(x, 0, where, y)


@operation(sweep("seldom", 110, _drawn))
def seldom(name: str, dtype: str, rows: int, cols: int) -> Call:
    """Call one of these ops on [rows, cols]."""
    return _CALLS[name](rows, cols, dtype)
