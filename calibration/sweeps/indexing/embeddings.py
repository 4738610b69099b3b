"""Lookups of rows of a table by index, and the gradient of the table."""

from __future__ import annotations

from random import Random

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import indices, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, sweep, tokens, whole, width


def _table(rng: Random) -> Params | None:
    kind = dtype(rng)
    rows, cols = width(rng, 100, 260000), width(rng, 16, 8192)
    picked = tokens(rng, 1, 131072)
    if max(rows, picked) * cols > LARGEST_BYTES // ITEM_BYTES[kind] or picked * cols < 1000:
        return None
    return {"dtype": kind, "rows": rows, "cols": cols, "picked": picked}


@operation(sweep("embedding", 102, _table))
def embedding(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """`picked` rows of a table [rows, cols]."""
    table, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    return lambda: F.embedding(where, table)


@operation(sweep("embedding_backward", 102, _table))
def embedding_backward(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """The dense gradient [rows, cols] of the table."""
    gy, where = random(picked, cols, dtype=dtype), indices(picked, below=rows)
    return lambda: torch.ops.aten.embedding_dense_backward(gy, where, rows, -1, False)


def _bags(rng: Random) -> Params | None:
    rows, cols, bags = (
        whole(rng, 1000, 2000000),
        rng.choice([16, 32, 64, 128]),
        tokens(rng, 64, 16384),
    )
    if rows * cols > LARGEST_BYTES // 4:
        return None
    return {"rows": rows, "cols": cols, "bags": bags, "each": whole(rng, 1, 64)}


@operation(sweep("embedding_bag", 90, _bags))
def embedding_bag(rows: int, cols: int, bags: int, each: int) -> Call:
    """Sums of `each` rows of a float32 table [rows, cols] per bag, for `bags` bags."""
    table, where = random(rows, cols, dtype="fp32"), indices(bags, each, below=rows)
    return lambda: F.embedding_bag(where, table, mode="sum")
