"""Copies that reorder dimensions in any order, and ops that read an operand across its rows."""

from __future__ import annotations

from math import prod
from random import Random

import torch

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, pick, sweep, whole

_DTYPES = {"bf16": 4.0, "fp32": 4.0, "fp16": 1.0, "int64": 0.5, "uint8": 0.5}


def _shape(rng: Random) -> Params | None:
    kind, dims = pick(rng, _DTYPES), rng.choice([2, 3, 3, 4, 4, 5, 6])
    shape = [whole(rng, 2, 4096 if dims < 4 else 256) for _ in range(dims)]
    if rng.random() < 0.6:  # as in networks
        shape = [1 << side.bit_length() - 1 if side > 2 else side for side in shape]
    order = list(range(dims))
    rng.shuffle(order)
    if order == sorted(order) or not 2**16 <= prod(shape) <= LARGEST_BYTES // 2 // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "shape": shape, "order": order}


@operation(sweep("permute", 260, _shape))
def permute(dtype: str, shape: list[int], order: list[int]) -> Call:
    """A contiguous copy of a tensor with its dimensions in another order."""
    x = random(*shape, dtype=dtype).permute(order)
    return lambda: x.contiguous()


@operation(sweep("permute_back", 60, _shape))
def permute_back(dtype: str, shape: list[int], order: list[int]) -> Call:
    """Copy a dense tensor into one with another order of dimensions in memory, by `copy_`."""
    place = random(*shape, dtype=dtype).permute(order)
    x = random(*place.shape, dtype=dtype)
    return lambda: place.copy_(x)


@operation(sweep("add_permuted", 60, _shape))
def add_permuted(dtype: str, shape: list[int], order: list[int]) -> Call:
    """Add a dense tensor and one with another order of dimensions in memory."""
    x = random(*shape, dtype=dtype).permute(order)
    y = random(*x.shape, dtype=dtype)
    return lambda: torch.add(x, y)
