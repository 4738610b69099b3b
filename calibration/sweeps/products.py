"""Matrix products as in nn.Linear, its backward pass, attention and mixtures of experts."""

from __future__ import annotations

from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, pick, sweep, tokens, whole, width

MOST_FLOPS = {"fp32": 7e11, "tf32": 4e12, "bf16": 1e13, "fp16": 1e13, "fp8": 2e13, "int8": 1e13}
"""FLOPs of a product that takes about 20 ms on a fast GPU."""
_DTYPES = {"bf16": 45.0, "fp16": 20.0, "fp32": 20.0, "tf32": 15.0}


def _fits(dtype: str, b: int, m: int, n: int, k: int) -> bool:
    largest = b * max(m * n, m * k, n * k) * ITEM_BYTES[dtype]
    return largest <= LARGEST_BYTES and 2.0 * b * m * n * k <= MOST_FLOPS[dtype]


def _rows(rng: Random) -> int:
    """A number of rows: few as in decoding, thousands as in training, or in between."""
    kind = rng.random()
    if kind < 0.3:
        return whole(rng, 1, 64)
    return tokens(rng, 64, 1024) if kind < 0.5 else tokens(rng, 1024, 65536)


def _features(rng: Random) -> int:
    vocabulary = rng.random() < 0.2
    return width(rng, 8192, 160000) if vocabulary else width(rng, 48, 16384)


def _linear(rng: Random) -> Params | None:
    kind = pick(rng, _DTYPES)
    m, n, k = _rows(rng), _features(rng), width(rng, 48, 16384)
    bias = rng.random() < 0.5
    return (
        {"dtype": kind, "m": m, "n": n, "k": k, "bias": bias} if _fits(kind, 1, m, n, k) else None
    )


@operation(sweep("linear", 2400, _linear))
def linear(dtype: str, m: int, n: int, k: int, bias: bool) -> Call:
    """Forward pass of nn.Linear: [m, k] by weights [n, k], with or without a bias [n]."""
    x, w = random(m, k, dtype=dtype), random(n, k, dtype=dtype)
    b = random(n, dtype=dtype) if bias else None
    return _rounded(dtype, lambda: F.linear(x, w, b))


def _product(rng: Random) -> Params | None:
    kind = pick(rng, _DTYPES)
    layout = pick(rng, {"nn": 4.0, "tn": 4.0, "nt": 0.5, "tt": 1.0})
    if layout == "tn":  # gradients of weights: features by features, over the rows
        m, n, k = _features(rng), width(rng, 48, 16384), max(16, _rows(rng))
    else:
        m, n, k = _rows(rng), width(rng, 48, 16384), _features(rng)
    if not _fits(kind, 1, m, n, k):
        return None
    return {"dtype": kind, "layout": layout, "m": m, "n": n, "k": k}


@operation(sweep("product", 1700, _product))
def product(dtype: str, layout: str, m: int, n: int, k: int) -> Call:
    """The product [m, k] @ [k, n]; "t" marks an operand that is stored transposed. "nn" computes
    the gradient of a linear layer's input, "tn" that of its weights."""
    a, b = _stored(layout[0], m, k, dtype=dtype), _stored(layout[1], k, n, dtype=dtype)
    return _rounded(dtype, lambda: torch.mm(a, b))


def _near_squares(rng: Random) -> Params | None:
    kind = pick(rng, _DTYPES)
    side = whole(rng, 64, 12288)
    m, n, k = (width(rng, max(8, side * 2 // 3), side * 3 // 2) for _ in range(3))
    return {"dtype": kind, "m": m, "n": n, "k": k} if _fits(kind, 1, m, n, k) else None


@operation(sweep("square_product", 240, _near_squares))
def square_product(dtype: str, m: int, n: int, k: int) -> Call:
    """[m, k] @ [k, n] with sides of similar size, stored by rows."""
    a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
    return _rounded(dtype, lambda: torch.mm(a, b))


def _sliced(rng: Random) -> Params | None:
    kind = pick(rng, _DTYPES)
    m, n, k = _rows(rng), width(rng, 48, 8192), width(rng, 48, 8192)
    wider = rng.choice([2, 3, 4])
    if not _fits(kind, 1, m, n, k * wider):
        return None
    return {"dtype": kind, "m": m, "n": n, "k": k, "wider": wider}


@operation(sweep("sliced_product", 75, _sliced))
def sliced_product(dtype: str, m: int, n: int, k: int, wider: int) -> Call:
    """A slice [m, k] of a tensor `wider` times as wide, such as the queries of a fused projection,
    by weights [n, k]."""
    x, w = random(m, k * wider, dtype=dtype)[:, :k], random(n, k, dtype=dtype)
    return _rounded(dtype, lambda: torch.mm(x, w.t()))


def _batched(rng: Random) -> Params | None:
    kind = pick(rng, _DTYPES)
    b = whole(rng, 2, 1024)
    layout = pick(rng, {"nn": 3.0, "nt": 3.0, "tn": 2.0})
    m = whole(rng, 1, 16) if rng.random() < 0.15 else tokens(rng, 8, 4096)
    kinds = rng.random()
    if kinds < 0.45:  # scores of attention
        n, k = tokens(rng, 16, 4096), rng.choice([32, 48, 64, 80, 96, 128, 256])
    elif kinds < 0.9:  # and its output
        n, k = rng.choice([32, 48, 64, 80, 96, 128, 256]), tokens(rng, 16, 4096)
    else:  # experts
        b, n, k = whole(rng, 2, 64), width(rng, 128, 8192), width(rng, 128, 8192)
    if not _fits(kind, b, m, n, k):
        return None
    return {"dtype": kind, "layout": layout, "b": b, "m": m, "n": n, "k": k}


@operation(sweep("batched_product", 1000, _batched))
def batched_product(dtype: str, layout: str, b: int, m: int, n: int, k: int) -> Call:
    """The product [b, m, k] @ [b, k, n]; "t" marks an operand with matrices stored transposed."""
    x, y = _stored(layout[0], b, m, k, dtype=dtype), _stored(layout[1], b, k, n, dtype=dtype)
    return _rounded(dtype, lambda: torch.bmm(x, y))


def _eighths(rng: Random) -> Params | None:
    m, n, k = 16 * -(-_rows(rng) // 16), width(rng, 64, 16384), width(rng, 64, 16384)
    n, k = (16 * -(-side // 16) for side in (n, k))  # as cuBLAS requires
    return {"m": m, "n": n, "k": k} if _fits("fp8", 1, m, n, k) else None


@operation(sweep("scaled_product", 135, _eighths))
def scaled_product(m: int, n: int, k: int) -> Call:
    """fp8 (e4m3) [m, k] by weights [n, k], with one scale per tensor, into bfloat16."""
    x, w = random(m, k, dtype="fp8"), random(n, k, dtype="fp8").t()
    one, other = torch.rand(()) + 0.5, torch.rand(()) + 0.5
    return lambda: torch.ops.aten._scaled_mm(
        x, w, scale_a=one, scale_b=other, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def _integers(rng: Random) -> Params | None:
    point = _eighths(rng)
    return None if point is None or point["m"] < 32 else point


@operation(sweep("integer_product", 120, _integers))
def integer_product(m: int, n: int, k: int) -> Call:
    """int8 [m, k] by weights [n, k] into int32."""
    x, w = random(m, k, dtype="int8"), random(n, k, dtype="int8").t()
    return lambda: torch.ops.aten._int_mm(x, w)


def _lines(rng: Random) -> Params | None:
    kind = pick(rng, {"bf16": 2.0, "fp16": 1.0, "fp32": 2.0})
    m, k = width(rng, 64, 65536), width(rng, 64, 16384)
    return {"dtype": kind, "m": m, "k": k} if _fits(kind, 1, m, 1, k) else None


@operation(sweep("matrix_vector", 60, _lines))
def matrix_vector(dtype: str, m: int, k: int) -> Call:
    """[m, k] @ [k]."""
    a, x = random(m, k, dtype=dtype), random(k, dtype=dtype)
    return lambda: torch.mv(a, x)


def _stored(layout: str, *shape: int, dtype: str) -> Tensor:
    if layout == "n":
        return random(*shape, dtype=dtype)
    return random(*shape[:-2], shape[-1], shape[-2], dtype=dtype).transpose(-1, -2)


def _rounded(dtype: str, call: Call) -> Call:
    """The call, with float32 rounded to TF32 if the sweep requires it."""
    if dtype != "tf32":
        return call

    def rounded() -> object:
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return call()
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    return rounded
