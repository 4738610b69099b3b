"""Select and add rows and elements by random indices."""

from __future__ import annotations

from random import Random

import torch
import torch.nn.functional as F

from calibration.blind.draws import blind, size
from calibration.sweeps.operands import backward, indices, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, whole


def _rows(rng: Random) -> Params | None:
    kind = dtype(rng)
    table, width, picked = whole(rng, 8, 300_000), size(rng, 1, 4096), size(rng, 1, 200_000)
    if max(table, picked) * width * ITEM_BYTES[kind] > LARGEST_BYTES:
        return None
    return {"dtype": kind, "table": table, "width": width, "picked": picked}


@blind(12, _rows)
def blind_embedding(dtype: str, table: int, width: int, picked: int) -> Call:
    """Look up `picked` rows of a table."""
    weight, at = random(table, width, dtype=dtype), indices(picked, below=table)
    return lambda: F.embedding(at, weight)


@blind(10, _rows)
def blind_embedding_backward(dtype: str, table: int, width: int, picked: int) -> Call:
    """The gradient of the table."""
    weight, at = random(table, width, dtype=dtype, grad=True), indices(picked, below=table)
    return backward(F.embedding(at, weight), [weight])


@blind(10, _rows)
def blind_index_select(dtype: str, table: int, width: int, picked: int) -> Call:
    """Select rows by `index_select`."""
    x, at = random(table, width, dtype=dtype), indices(picked, below=table)
    return lambda: x.index_select(0, at)


@blind(8, _rows)
def blind_index(dtype: str, table: int, width: int, picked: int) -> Call:
    """Select rows by indexing with a tensor."""
    x, at = random(table, width, dtype=dtype), indices(picked, below=table)
    return lambda: x[at]


@blind(12, _rows)
def blind_gather(dtype: str, table: int, width: int, picked: int) -> Call:
    """Gather one element per position, from any row of its column."""
    x, at = random(table, width, dtype=dtype), indices(picked, width, below=table)
    return lambda: x.gather(0, at)


@blind(12, _rows)
def blind_scatter_add(dtype: str, table: int, width: int, picked: int) -> Call:
    """Add each element to a random row of its column."""
    x, at = random(table, width, dtype=dtype), indices(picked, width, below=table)
    source = random(picked, width, dtype=dtype)
    return lambda: x.scatter_add(0, at, source)


@blind(12, _rows)
def blind_index_add(dtype: str, table: int, width: int, picked: int) -> Call:
    """Add rows to random rows of a table in place, as messages are added to graph nodes."""
    x, at = random(table, width, dtype=dtype), indices(picked, below=table)
    source = 1e-3 * random(picked, width, dtype=dtype)
    return lambda: x.index_add_(0, at, source)


@blind(6, _rows)
def blind_one_hot(dtype: str, table: int, width: int, picked: int) -> Call:
    """One-hot encode an index: compare each element with all values of a short range."""
    at, classes = indices(picked, below=width), torch.arange(width)
    return lambda: at[:, None] == classes
