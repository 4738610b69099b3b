"""Elements and slices picked, added and joined along any dimension, of the sizes that networks
have."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
from torch import Tensor

from calibration.sweeps.operands import backward, indices, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import sweep

_OUTER = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
_LENGTHS = (4, 8, 10, 16, 32, 50, 64, 100, 128, 196, 256, 512, 1000, 1024, 2048, 4096, 10000)
_INNER = (1, 1, 1, 2, 3, 8, 16, 32, 64, 64, 128, 256, 512, 768)
_MOST_ELEMENTS = 3e7
_PRECISIONS = ("fp32", "fp32", "fp16", "bf16")


def _gather(x: Tensor, where: Tensor) -> Tensor:
    return torch.gather(x, 1, where[:, :, None].expand(-1, -1, x.shape[2]))


def _take_along(x: Tensor, where: Tensor) -> Tensor:
    return torch.take_along_dim(x, where[:, :, None], 1)


_PICKS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "gather": _gather,
    "take_along": _take_along,
    "index_select": lambda x, where: x.index_select(1, where[0]),
    "index": lambda x, where: x[:, where[0]],
    "pairs": lambda x, where: x[torch.arange(len(x))[:, None], where],
    "select": lambda x, where: x[:, x.shape[1] // 2],
    "select last": lambda x, where: x[..., 0],
    "narrow": lambda x, where: x[:, : where.shape[1]],
    "roll": lambda x, where: x.roll(1, 1),
    "flip": lambda x, where: x.flip(1),
    "repeat": lambda x, where: x.repeat_interleave(2, 1),
}
_VIEWS = ("select", "select last", "narrow")
"""Picks without a kernel of their own; their gradients have one."""


def _sizes(rng: Random) -> Params | None:
    sizes = [rng.choice(_OUTER), rng.choice(_LENGTHS), rng.choice(_INNER)]
    if not 1000 <= sizes[0] * sizes[1] * sizes[2] <= _MOST_ELEMENTS:
        return None
    picked = rng.choice([each for each in _LENGTHS if each <= sizes[1]])
    return {"dtype": rng.choice(_PRECISIONS), "sizes": sizes, "picked": picked}


def _picked(rng: Random) -> Params | None:
    """Draw a pick with a kernel. The range of `pairs` comes from the CPU in a single call, so only
    its gradient is measured."""
    drawn = _sizes(rng)
    name = drawn and rng.choice([n for n in _PICKS if n not in _VIEWS])
    return None if drawn is None or name == "pairs" else {"name": name} | drawn


def _differentiated(rng: Random) -> Params | None:
    drawn = _sizes(rng)
    return drawn and {"name": rng.choice(list(_PICKS))} | drawn


@operation(sweep("pick_along", 438, _picked))
def pick_along(name: str, dtype: str, sizes: list[int], picked: int) -> Call:
    """Pick `picked` slices of [outer, length, inner] along the length."""
    x, where = random(*sizes, dtype=dtype), indices(sizes[0], picked, below=sizes[1])
    return lambda: _PICKS[name](x, where)


@operation(sweep("pick_along_backward", 500, _differentiated))
def pick_along_backward(name: str, dtype: str, sizes: list[int], picked: int) -> Call:
    """The gradient of [outer, length, inner]."""
    x, where = random(*sizes, dtype=dtype, grad=True), indices(sizes[0], picked, below=sizes[1])
    return backward(_PICKS[name](x, where), [x])


def _added(rng: Random) -> Params | None:
    drawn = _sizes(rng)
    if drawn is None or drawn["picked"] > 16 * drawn["sizes"][1]:
        return None
    return {"name": rng.choice(("scatter_add", "scatter", "index_add", "index_copy"))} | drawn


@operation(sweep("add_along", 400, _added))
def add_along(name: str, dtype: str, sizes: list[int], picked: int) -> Call:
    """Add or write `picked` slices into [outer, length, inner] along the length, in place."""
    x, where = random(*sizes, dtype=dtype), indices(sizes[0], picked, below=sizes[1])
    more = random(sizes[0], picked, sizes[2], dtype=dtype)
    if name.startswith("index"):
        into = x.index_add_ if name == "index_add" else x.index_copy_
        return lambda: into(1, where[0], more)
    every = where[:, :, None].expand(-1, -1, sizes[2])
    into = x.scatter_add_ if name == "scatter_add" else x.scatter_
    return lambda: into(1, every, more)


def _parts(rng: Random) -> Params | None:
    outer, inner = rng.choice(_OUTER), rng.choice(_INNER)
    parts = [rng.choice(_LENGTHS[:-2]) for _ in range(rng.choice((2, 2, 2, 3, 4, 8)))]
    if rng.random() < 0.4:
        parts = parts[:1] * len(parts)
    elif rng.random() < 0.3:
        parts[-1] = 1
    if not 1000 <= outer * inner * sum(parts) <= _MOST_ELEMENTS:
        return None
    return {"dtype": rng.choice(_PRECISIONS), "outer": outer, "parts": parts, "inner": inner}


@operation(sweep("join_along", 500, _parts))
def join_along(dtype: str, outer: int, parts: list[int], inner: int) -> Call:
    """Join tensors [outer, part, inner] along their parts."""
    every = [random(outer, part, inner, dtype=dtype) for part in parts]
    return lambda: torch.cat(every, 1)
