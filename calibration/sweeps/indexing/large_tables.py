"""Rows read from and written to tables larger than any L2."""

from __future__ import annotations

from random import Random

import torch.nn.functional as F

from calibration.sweeps.indexing.embeddings import embedding, embedding_backward
from calibration.sweeps.operands import indices, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, dtype, sweep, tokens, whole, width

_SMALLEST_BYTES = 64 * 2**20
_LARGEST_BYTES = 2 * 2**30


def _table(rng: Random) -> Params | None:
    kind, cols = dtype(rng), width(rng, 4, 8192)
    rows, picked = whole(rng, 10000, 20000000), tokens(rng, 256, 1000000)
    size = rows * cols * ITEM_BYTES[kind]
    if not _SMALLEST_BYTES <= size <= _LARGEST_BYTES:
        return None
    if picked * cols * ITEM_BYTES[kind] > _LARGEST_BYTES // 4:
        return None
    return {"dtype": kind, "rows": rows, "cols": cols, "picked": picked}


@operation(sweep("large_embedding", 70, _table))
def large_embedding(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """`picked` rows of a table [rows, cols] of 64 MiB to 2 GiB."""
    return embedding(dtype, rows, cols, picked)


@operation(sweep("large_embedding_backward", 40, _table))
def large_embedding_backward(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """The dense gradient [rows, cols] of such a large table."""
    return embedding_backward(dtype, rows, cols, picked)


@operation(sweep("large_index", 40, _table))
def large_index(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Select the rows by indexing."""
    table, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    return lambda: table[where]


@operation(sweep("large_index_add", 30, _table))
def large_index_add(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Add rows into the table, in place."""
    table, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    x = random(picked, cols, dtype=dtype)
    return lambda: table.index_add_(0, where, x)


def _bags(rng: Random) -> Params | None:
    cols, rows = rng.choice([16, 32, 64, 128, 256]), whole(rng, 100000, 20000000)
    bags, each = tokens(rng, 256, 65536), whole(rng, 1, 100)
    if not _SMALLEST_BYTES <= rows * cols * 4 <= _LARGEST_BYTES:
        return None
    return {"rows": rows, "cols": cols, "bags": bags, "each": each}


@operation(sweep("large_embedding_bag", 40, _bags))
def large_embedding_bag(rows: int, cols: int, bags: int, each: int) -> Call:
    """Sums of `each` rows of a large float32 table per bag, for `bags` bags."""
    table, where = random(rows, cols, dtype="fp32"), indices(bags, each, below=rows)
    return lambda: F.embedding_bag(where, table, mode="sum")
