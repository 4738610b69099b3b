"""Sorts, the largest few, and running sums."""

from __future__ import annotations

from random import Random

import torch

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import matrix, sweep, whole


def _rows(rng: Random) -> Params:
    kind = rng.choice(["fp32", "fp32", "bf16", "fp16", "int64"])
    rows, cols = matrix(rng, kind, 16, 200000, 2**26)
    return {"dtype": kind, "rows": rows, "cols": cols}


@operation(sweep("sort", 60, _rows))
def sort(dtype: str, rows: int, cols: int) -> Call:
    """Sort each row of [rows, cols]; returns values and indices."""
    x = random(rows, cols, dtype=dtype)
    return lambda: torch.sort(x, -1)


@operation(
    sweep("argsort_whole", 24, lambda rng: {"dtype": "int64", "elements": whole(rng, 1000, 2**23)})
)
def argsort_whole(dtype: str, elements: int) -> Call:
    """The sorting indices of one long row, as for the tokens of experts."""
    x = random(elements, dtype=dtype)
    return lambda: torch.argsort(x)


def _few(rng: Random) -> Params:
    point = _rows(rng)
    return {**point, "k": whole(rng, 1, min(256, point["cols"]))}


@operation(sweep("topk", 150, _few))
def topk(dtype: str, rows: int, cols: int, k: int) -> Call:
    """The k largest of each row of [rows, cols]."""
    x = random(rows, cols, dtype=dtype)
    return lambda: torch.topk(x, k)


def _running(rng: Random) -> Params | None:
    point, dim = _rows(rng), rng.choice([0, 1, 1])
    if dim == 0 and point["rows"] > 16384:  # one thread per column processes row after row
        return None
    return {**point, "dim": dim}


@operation(sweep("cumsum", 60, _running))
def cumsum(dtype: str, rows: int, cols: int, dim: int) -> Call:
    """Running sums of [rows, cols] along a dimension."""
    x = random(rows, cols, dtype=dtype)
    return lambda: torch.cumsum(x, dim)
