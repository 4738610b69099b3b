"""Products far from square: few rows, odd sides, or a short sum for very many rows."""

from __future__ import annotations

from random import Random

from calibration.sweeps.operands import random
from calibration.sweeps.products import batched_product, linear, product
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, pick, sweep, whole

_DTYPES = {"fp32": 4.0, "bf16": 4.0, "fp16": 1.5, "tf32": 1.5}


def _fits(kind: str, m: int, n: int, k: int) -> bool:
    return max(m * n, m * k, n * k) * ITEM_BYTES[kind] <= LARGEST_BYTES and m * n * k < 3e11


def _few(rng: Random) -> Params | None:
    kind, m = pick(rng, _DTYPES), whole(rng, 1, 96)
    n, k = whole(rng, 10, 16384), whole(rng, 10, 16384)
    if rng.random() < 0.6:
        n, k = (8 * -(-side // 8) for side in (n, k))
    if not _fits(kind, m, n, k) or n * k < 4096:
        return None
    return {"dtype": kind, "m": m, "n": n, "k": k, "bias": rng.random() < 0.5}


@operation(sweep("few_rows", 220, _few))
def few_rows(dtype: str, m: int, n: int, k: int, bias: bool) -> Call:
    """A linear layer [m, k] to [m, n] of at most 96 rows."""
    return linear(dtype, m, n, k, bias)


def _skinny(rng: Random) -> Params | None:
    kind, layout = pick(rng, _DTYPES), rng.choice(["nn", "nt", "tn"])
    sides = [whole(rng, 1, 40), whole(rng, 100, 70000), whole(rng, 30, 8192)]
    rng.shuffle(sides)
    m, n, k = sides
    return (
        {"dtype": kind, "layout": layout, "m": m, "n": n, "k": k} if _fits(kind, m, n, k) else None
    )


@operation(sweep("skinny_product", 180, _skinny))
def skinny_product(dtype: str, layout: str, m: int, n: int, k: int) -> Call:
    """The product [m, k] @ [k, n] with one side of at most 40; sides may be odd."""
    return product(dtype, layout, m, n, k)


def _shallow(rng: Random) -> Params | None:
    kind = pick(rng, {"bf16": 5.0, "fp16": 2.0, "fp32": 2.0, "tf32": 1.0})
    sides = [32, 48, 64, 96, 128, 192, 256, 256, 320, 384, 512, 768, 1024]
    m, n, k = whole(rng, 8192, 400000), rng.choice(sides), rng.choice(sides)
    if rng.random() < 0.5:
        m = 1 << m.bit_length() - 1
    if not _fits(kind, m, n, k):
        return None
    return {"dtype": kind, "m": m, "n": n, "k": k, "bias": rng.random() < 0.5}


@operation(sweep("shallow_linear", 150, _shallow))
def shallow_linear(dtype: str, m: int, n: int, k: int, bias: bool) -> Call:
    """A linear layer of many rows, few inputs and few outputs."""
    return linear(dtype, m, n, k, bias)


def _uneven(rng: Random) -> Params | None:
    kind, layout = pick(rng, _DTYPES), rng.choice(["nn", "nt", "tn"])
    b, m, n, k = whole(rng, 2, 512), *(whole(rng, 4, 1024) for _ in range(3))
    if b * max(m * n, m * k, n * k) * ITEM_BYTES[kind] > LARGEST_BYTES // 2:
        return None
    return {"dtype": kind, "layout": layout, "b": b, "m": m, "n": n, "k": k}


@operation(sweep("uneven_batched", 130, _uneven))
def uneven_batched(dtype: str, layout: str, b: int, m: int, n: int, k: int) -> Call:
    """The product [b, m, k] @ [b, k, n] of any sides."""
    return batched_product(dtype, layout, b, m, n, k)


def _heads(rng: Random) -> Params | None:
    kind = pick(rng, {"bf16": 3.0, "fp16": 1.0, "fp32": 2.0})
    length, heads = whole(rng, 32, 2048), rng.choice([4, 8, 12, 16])
    batch, wide = whole(rng, 1, 64), rng.choice([32, 64, 64, 80, 128])
    if batch * heads * length**2 * ITEM_BYTES[kind] > LARGEST_BYTES // 2:
        return None
    return {
        "dtype": kind,
        "batch": batch,
        "heads": heads,
        "length": length,
        "width": wide,
        "scores": rng.random() < 0.5,
    }


@operation(sweep("head_product", 100, _heads))
def head_product(dtype: str, batch: int, heads: int, length: int, width: int, scores: bool) -> Call:
    """Scores [batch, heads, length, length] of queries and keys, or their product with values; the
    heads of a token are contiguous, as after a projection."""
    left, right = (
        random(batch, length, heads, width, dtype=dtype).transpose(1, 2) for _ in range(2)
    )
    if scores:
        return lambda: left @ right.transpose(-1, -2)
    weights = random(batch, heads, length, length, dtype=dtype)
    return lambda: weights @ right
