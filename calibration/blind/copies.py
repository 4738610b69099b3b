"""Copies: concatenations, permutations, padding, repetitions, rotations and conversions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.blind.draws import LAYOUTS, blind, laid, shape
from calibration.sweeps.operands import DTYPES, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import dtype, pick


def _joined(rng: Random) -> Params | None:
    kind, dims, parts = dtype(rng), rng.choice([2, 3, 4]), rng.choice([2, 2, 3, 4, 7])
    sizes = shape(rng, dims, kind)
    if sizes is None:
        return None
    dim = rng.randrange(dims)
    sizes[dim] = max(1, sizes[dim] // parts)
    return {"dtype": kind, "sizes": sizes, "dim": dim, "parts": parts}


@blind(16, _joined)
def blind_cat(dtype: str, sizes: list[int], dim: int, parts: int) -> Call:
    """Concatenate `parts` tensors of one shape along a dimension."""
    each = [random(*sizes, dtype=dtype) for _ in range(parts)]
    return lambda: torch.cat(each, dim)


@blind(8, _joined)
def blind_stack(dtype: str, sizes: list[int], dim: int, parts: int) -> Call:
    """Stack `parts` tensors along a new dimension."""
    each = [random(*sizes, dtype=dtype) for _ in range(parts)]
    return lambda: torch.stack(each, dim)


def _permuted(rng: Random) -> Params | None:
    kind, dims = dtype(rng), rng.choice([2, 3, 4, 5])
    order = rng.sample(range(dims), dims)
    sizes = shape(rng, dims, kind)
    if sizes is None or order == sorted(order):
        return None
    return {"dtype": kind, "sizes": sizes, "order": order}


@blind(24, _permuted)
def blind_permute(dtype: str, sizes: list[int], order: list[int]) -> Call:
    """Permute dimensions and make the result contiguous."""
    x = random(*sizes, dtype=dtype).permute(order)
    return lambda: x.contiguous()


COPIES: dict[str, Callable[[Tensor], Tensor]] = {
    "clone": torch.clone,
    "flip": lambda x: x.flip(-1),
    "roll": lambda x: x.roll(3, -1),
    "pad": lambda x: F.pad(x, (1, 2)),
    "repeat": lambda x: x.repeat_interleave(2, 0),
    "expand": lambda x: x[:, :1].expand_as(x).contiguous(),
    "halved": lambda x: x.to(torch.float16 if x.dtype == torch.float32 else torch.float32),
    "triangle": torch.tril,
    "every second": lambda x: x[..., ::2].contiguous(),
    "whole numbers": lambda x: x.to(DTYPES["int64"]),
}


def _copied(rng: Random) -> Params | None:
    kind = dtype(rng)
    sizes, layout = shape(rng, rng.choice([2, 3]), kind), pick(rng, LAYOUTS)
    name = rng.choice(list(COPIES))
    if sizes is None:
        return None
    return {"name": name, "dtype": kind, "sizes": sizes, "layout": layout}


@blind(30, _copied)
def blind_copy(name: str, dtype: str, sizes: list[int], layout: str) -> Call:
    """Apply a copying function to one operand."""
    x, function = laid(sizes, dtype, layout), COPIES[name]
    return lambda: function(x)
