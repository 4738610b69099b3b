"""Elements and rows by index, and masks; no op makes the host wait."""

from __future__ import annotations

from random import Random

import torch

from calibration.sweeps.operands import indices, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import (
    ITEM_BYTES,
    LARGEST_BYTES,
    dtype,
    elements,
    matrix,
    sweep,
    tokens,
)


def _rows(rng: Random) -> Params | None:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 16, 8192)
    picked = tokens(rng, 1, 65536)
    if not 1000 <= picked * cols <= LARGEST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "rows": rows, "cols": cols, "picked": picked}


def _places(rng: Random) -> Params:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 16, 8192, LARGEST_BYTES // 8)
    return {"dtype": kind, "rows": rows, "cols": cols, "picked": tokens(rng, 1, cols)}


@operation(sweep("index_select", 42, _rows))
def index_select(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Select `picked` rows of [rows, cols]."""
    x, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    return lambda: torch.index_select(x, 0, where)


@operation(sweep("index_rows", 42, _rows))
def index_rows(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """x[where]: `picked` rows of [rows, cols]."""
    x, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    return lambda: x[where]


def _added(rng: Random) -> Params | None:
    """Draw a point in which each row is chosen at most 16 times on average, since sums into one row
    are sequential."""
    point = _rows(rng)
    return point if point and point["picked"] <= 16 * point["rows"] else None


@operation(sweep("index_add", 30, _added))
def index_add(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Add `picked` rows into rows of [rows, cols], in place."""
    x, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    more = random(picked, cols, dtype=dtype)
    return lambda: x.index_add_(0, where, more)


@operation(sweep("index_put", 60, _rows))
def index_put(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """x[where] = more: replace `picked` rows of [rows, cols]."""
    x, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    more = random(picked, cols, dtype=dtype)
    return lambda: x.index_put_((where,), more)


@operation(sweep("index_accumulate", 36, _added))
def index_accumulate(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Like `index_put`, but add, in the order of the sorted indices: the gradient of x[where]."""
    x, where = random(rows, cols, dtype=dtype), indices(picked, below=rows)
    more = random(picked, cols, dtype=dtype)
    return lambda: x.index_put_((where,), more, accumulate=True)


@operation(sweep("gather", 42, _places))
def gather(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Gather `picked` elements of each row."""
    x, where = random(rows, cols, dtype=dtype), indices(rows, picked, below=cols)
    return lambda: torch.gather(x, 1, where)


@operation(sweep("scatter_add", 80, _places))
def scatter_add(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Add `picked` values into each row, in place."""
    x, where = random(rows, cols, dtype=dtype), indices(rows, picked, below=cols)
    more = random(rows, picked, dtype=dtype)
    return lambda: x.scatter_add_(1, where, more)


@operation(sweep("scatter", 24, _places))
def scatter(dtype: str, rows: int, cols: int, picked: int) -> Call:
    """Write `picked` values into each row of a copy."""
    x, where = random(rows, cols, dtype=dtype), indices(rows, picked, below=cols)
    more = random(rows, picked, dtype=dtype)
    return lambda: torch.scatter(x, 1, where, more)


def _masked(rng: Random) -> Params:
    kind = dtype(rng)
    return {"dtype": kind, "elements": elements(rng, kind)}


@operation(sweep("masked_fill", 36, _masked))
def masked_fill(dtype: str, elements: int) -> Call:
    """Write a number where the mask is true."""
    x, mask = random(elements, dtype=dtype), random(elements, dtype="bool")
    return lambda: x.masked_fill(mask, -1e4)


def _square(rng: Random) -> Params | None:
    kind = dtype(rng)
    rows, cols = matrix(rng, kind, 16, 8192)
    return {"name": rng.choice(["triu", "tril"]), "dtype": kind, "rows": rows, "cols": cols}


@operation(sweep("triangle", 80, _square))
def triangle(name: str, dtype: str, rows: int, cols: int) -> Call:
    """The upper or lower triangle of [rows, cols]."""
    x = random(rows, cols, dtype=dtype)
    return (lambda: torch.triu(x, 1)) if name == "triu" else (lambda: torch.tril(x))
