"""Gradients of softmaxes over any dimension, and batched products of operands in any layout."""

from __future__ import annotations

from random import Random

import torch
from torch import Tensor

from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, sweep, whole, width

_LAYOUTS = {"dense": 4.0, "swapped": 2.0, "slice": 1.0, "offset": 1.0}
_MOST_FLOPS = {"fp32": 5e10, "bf16": 1e12, "fp16": 1e12}


def _laid(sizes: list[int], dtype: str, layout: str, grad: bool = False) -> Tensor:
    """Random numbers in a memory layout: dense; with the last two dimensions swapped in memory; the
    first half of rows twice as wide; or all but the first element of rows one element wider."""
    *outer, last = sizes
    if layout == "swapped":
        x = random(*outer[:-1], last, outer[-1], dtype=dtype).transpose(-1, -2)
    elif layout == "slice":
        x = random(*outer, 2 * last, dtype=dtype)[..., :last]
    elif layout == "offset":
        x = random(*outer, last + 1, dtype=dtype)[..., 1:]
    else:
        x = random(*sizes, dtype=dtype)
    return x.detach().requires_grad_(grad)


def _any_dimension(rng: Random) -> Params | None:
    kind, dims = dtype(rng), rng.choice([2, 3, 4])
    sizes = [whole(rng, 1, 4096) for _ in range(dims)]
    size = ITEM_BYTES[kind]
    for each in sizes:
        size *= each
    if not 2000 <= size <= LARGEST_BYTES // 4:
        return None
    return {
        "name": rng.choice(["softmax", "log_softmax"]),
        "dtype": kind,
        "sizes": sizes,
        "dim": rng.choice([dims - 1, rng.randrange(dims), rng.randrange(dims)]),
        "layout": pick(rng, _LAYOUTS),
    }


@operation(sweep("varied_softmax_backward", 260, _any_dimension))
def varied_softmax_backward(name: str, dtype: str, sizes: list[int], dim: int, layout: str) -> Call:
    """Gradient of the input of a softmax, or of its logarithm, over one dimension."""
    x = _laid(sizes, dtype, layout, grad=True)
    return backward(getattr(torch, name)(x, dim), [x])


def _batched(rng: Random) -> Params | None:
    kind, b = dtype(rng), whole(rng, 1, 512)
    m, n, k = (width(rng, 1 if rng.random() < 0.2 else 16, 8192, 8) for _ in range(3))
    largest = b * max(m * n, m * k, n * k) * ITEM_BYTES[kind]
    if 2 * b * m * n * k > _MOST_FLOPS[kind] or largest > LARGEST_BYTES // 2:
        return None
    return {
        "dtype": kind,
        "b": b,
        "m": m,
        "n": n,
        "k": k,
        "left": pick(rng, _LAYOUTS),
        "right": pick(rng, _LAYOUTS),
        "added": rng.random() < 0.25,
    }


@operation(sweep("varied_batched", 280, _batched))
def varied_batched(
    dtype: str, b: int, m: int, n: int, k: int, left: str, right: str, added: bool
) -> Call:
    """The product [b, m, k] @ [b, k, n], with a scaled operand added if `added`."""
    x, y = _laid([b, m, k], dtype, left), _laid([b, k, n], dtype, right)
    if not added:
        return lambda: torch.bmm(x, y)
    c = random(b, m, n, dtype=dtype)
    return lambda: torch.baddbmm(c, x, y, beta=0.5)
