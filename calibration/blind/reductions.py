"""Reductions over any dimensions, running sums, and sorting."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, cast

import torch

from calibration.blind.draws import LAYOUTS, blind, laid, shape
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import dtype, pick

Dims = list[int]
REDUCTIONS: dict[str, Callable[[Any, Dims], Any]] = {
    "sum": lambda x, dims: x.sum(dims),
    "mean": lambda x, dims: x.mean(dims),
    "amax": lambda x, dims: x.amax(dims),
    "var": lambda x, dims: x.var(dims),
    "norm": lambda x, dims: cast("Any", torch.linalg).vector_norm(x, dim=dims),
    "logsumexp": lambda x, dims: x.logsumexp(dims),
    "argmax": lambda x, dims: x.argmax(dims[0]),
    "max": lambda x, dims: x.max(dims[0]),
    "any": lambda x, dims: (x > 3).any(dims[0]),
    "prod": lambda x, dims: x.prod(dims[0]),
}


def _reduced(rng: Random) -> Params | None:
    kind, dims = dtype(rng), rng.choice([1, 2, 3, 4])
    sizes = shape(rng, dims, kind)
    count = rng.randint(1, dims)
    if sizes is None:
        return None
    return {
        "name": rng.choice(list(REDUCTIONS)),
        "dtype": kind,
        "sizes": sizes,
        "dims": sorted(rng.sample(range(dims), count)),
        "layout": pick(rng, LAYOUTS) if dims > 1 else "contiguous",
    }


@blind(50, _reduced)
def blind_reduction(name: str, dtype: str, sizes: Dims, dims: Dims, layout: str) -> Call:
    """Reduce over some dimensions; "argmax", "max", "any" and "prod" reduce over the first of
    them."""
    x, function = laid(sizes, dtype, layout), REDUCTIONS[name]
    return lambda: function(x, dims)


ORDERED: dict[str, Callable[[Any, int], Any]] = {
    "cumsum": torch.cumsum,
    "sort": lambda x, dim: x.sort(dim),
    "topk": lambda x, dim: x.topk(max(1, min(50, x.shape[dim] // 2)), dim),
    "cumprod": torch.cumprod,
    "argsort": lambda x, dim: x.argsort(dim),
}


def _ordered(rng: Random) -> Params | None:
    kind, dims = dtype(rng), rng.choice([1, 2, 3])
    sizes = shape(rng, dims, kind)
    if sizes is None:
        return None
    dim = dims - 1 if rng.random() < 0.7 else rng.randrange(dims)
    return {"name": rng.choice(list(ORDERED)), "dtype": kind, "sizes": sizes, "dim": dim}


@blind(24, _ordered)
def blind_ordered(name: str, dtype: str, sizes: Dims, dim: int) -> Call:
    """Sort or scan along one dimension; "topk" takes the 50 largest, or half of a shorter
    dimension."""
    x, function = laid(sizes, dtype, "contiguous"), ORDERED[name]
    return lambda: function(x, dim)
