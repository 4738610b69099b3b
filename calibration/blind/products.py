"""Matrix products with random sizes and layouts."""

from __future__ import annotations

from random import Random

import torch
import torch.nn.functional as F

from calibration.blind.draws import LAYOUTS, blind, laid, size
from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, whole

_MOST_FLOPS = {"fp32": 8e10, "bf16": 1.5e12, "fp16": 1.5e12}
"""FLOPs of a product that takes about 2 ms on an H200."""


def _product(rng: Random, batched: bool = False) -> Params | None:
    kind = dtype(rng)
    batch = whole(rng, 1, 512) if batched else 1
    m, k, n = (size(rng, 1 if rng.random() < 0.2 else 16, 16384) for _ in range(3))
    largest = batch * max(m * k, k * n, m * n) * ITEM_BYTES[kind]
    if 2 * batch * m * k * n > _MOST_FLOPS[kind] or largest > LARGEST_BYTES:
        return None
    return {"dtype": kind, **({"batch": batch} if batched else {}), "m": m, "k": k, "n": n}


def _laid(rng: Random, batched: bool = False) -> Params | None:
    point = _product(rng, batched)
    return point and {**point, "left": pick(rng, LAYOUTS), "right": pick(rng, LAYOUTS)}


def _added(rng: Random) -> Params | None:
    point = _laid(rng)
    return point and {**point, "rows": rng.choice([1, point["m"]])}


def _linear(rng: Random) -> Params | None:
    point = _product(rng)
    return point and {**point, "bias": rng.random() < 0.6, "left": pick(rng, LAYOUTS)}


@blind(40, _laid)
def blind_mm(dtype: str, m: int, k: int, n: int, left: str, right: str) -> Call:
    """[m, k] times [k, n]."""
    a, b = laid([m, k], dtype, left), laid([k, n], dtype, right)
    return lambda: torch.mm(a, b)


@blind(20, _added)
def blind_addmm(dtype: str, m: int, k: int, n: int, left: str, right: str, rows: int) -> Call:
    """[m, k] times [k, n], plus a row [n] or a matrix [m, n]."""
    a, b, c = laid([m, k], dtype, left), laid([k, n], dtype, right), random(rows, n, dtype=dtype)
    c = c[0] if rows == 1 else c
    return lambda: torch.addmm(c, a, b)


@blind(30, lambda rng: _laid(rng, batched=True))
def blind_bmm(dtype: str, batch: int, m: int, k: int, n: int, left: str, right: str) -> Call:
    """`batch` products of [m, k] and [k, n]."""
    a, b = laid([batch, m, k], dtype, left), laid([batch, k, n], dtype, right)
    return lambda: torch.bmm(a, b)


@blind(12, lambda rng: _product(rng, batched=True))
def blind_baddbmm(dtype: str, batch: int, m: int, k: int, n: int) -> Call:
    """A batch of products, added to a scaled operand."""
    a, b = random(batch, m, k, dtype=dtype), random(batch, k, n, dtype=dtype)
    c = random(batch, m, n, dtype=dtype)
    return lambda: torch.baddbmm(c, a, b, beta=0.5)


@blind(30, _linear)
def blind_linear(dtype: str, m: int, k: int, n: int, bias: bool, left: str) -> Call:
    """A linear layer of n features applied to m rows."""
    x, w = laid([m, k], dtype, left), random(n, k, dtype=dtype)
    b = random(n, dtype=dtype) if bias else None
    return lambda: F.linear(x, w, b)


@blind(24, _linear)
def blind_linear_backward(dtype: str, m: int, k: int, n: int, bias: bool, left: str) -> Call:
    """Gradients of input, weight and bias."""
    x, w = laid([m, k], dtype, left, grad=True), random(n, k, dtype=dtype, grad=True)
    b = random(n, dtype=dtype, grad=True) if bias else None
    return backward(F.linear(x, w, b), (x, w) if b is None else (x, w, b))
