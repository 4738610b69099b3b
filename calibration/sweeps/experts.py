"""Grouped matrix products as in mixtures of experts: rows are sorted by expert, and each expert has
a weight."""

from __future__ import annotations

from math import exp, log
from random import Random

import torch
from torch import Tensor

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, pick, sweep

_LARGEST_BYTES = 4 * 2**30
"""Maximum bytes of the weights of all experts."""
_MOST_FLOPS = 1e13
_ALIGNED = 16  # sizes are multiples of this, as the kernels' bulk loads require
_EXPERTS = {"8": 2.0, "16": 1.0, "32": 2.0, "64": 2.0, "128": 3.0, "256": 2.0}
_TOP = {"1": 1.0, "2": 2.0, "4": 2.0, "6": 1.0, "8": 2.0}


def _width(rng: Random) -> int:
    return _ALIGNED * round(exp(rng.uniform(log(256), log(14336))) / _ALIGNED)


def _drawn(rng: Random, dtype: str) -> Params | None:
    experts, top = int(pick(rng, _EXPERTS)), int(pick(rng, _TOP))
    tokens = round(exp(rng.uniform(0.0, log(32768))))
    n, k = _width(rng), _width(rng)
    weight_bytes = experts * n * k * ITEM_BYTES[dtype]
    if weight_bytes > _LARGEST_BYTES or 2.0 * tokens * top * n * k > _MOST_FLOPS or top > experts:
        return None
    return {"experts": experts, "tokens": tokens, "top": top, "n": n, "k": k}


def _half(rng: Random) -> Params | None:
    point = _drawn(rng, "bf16")
    by = pick(rng, {"columns": 3.0, "rows": 2.0, "gradient": 1.0})
    if point is not None and by == "gradient" and point["tokens"] * point["top"] < _ALIGNED:
        return None
    return None if point is None else {"by": by, **point}


def group_ends(experts: int, tokens: int, top: int, multiple: int = 1) -> Tensor:
    """The last row of each expert plus one, [experts], for tokens that pick `top` different experts
    at random; with a `multiple`, the rows of each expert are padded to a multiple of it."""
    rng = Random(tokens)
    rows = [0] * experts
    for _ in range(tokens):
        for expert in rng.sample(range(experts), top):
            rows[expert] += 1
    ends: list[int] = []
    for count in rows:
        ends.append((ends[-1] if ends else 0) + -(-count // multiple) * multiple)
    return torch.tensor(ends, dtype=torch.int32)


@operation(sweep("grouped_product", 240, _half))
def grouped_product(by: str, experts: int, tokens: int, top: int, n: int, k: int) -> Call:
    """bf16 rows [tokens · top, k] by weights [experts, k, n], stored by columns as in nn.Linear or
    by rows; or the gradient of such weights, a sum over each expert's rows."""
    m = tokens * top
    if by == "gradient":  # rows of an expert must begin at a multiple of 16 bytes
        ends = group_ends(experts, tokens, top, multiple=8)
        rows = m + 7 * experts
        left, right = random(rows, k, dtype="bf16").t(), random(rows, n, dtype="bf16")
        return lambda: torch.ops.aten._grouped_mm(left, right, ends)
    ends, x = group_ends(experts, tokens, top), random(m, k, dtype="bf16")
    w = random(experts, k, n, dtype="bf16") if by == "rows" else _by_columns(experts, k, n, "bf16")
    return lambda: torch.ops.aten._grouped_mm(x, w, ends)


@operation(sweep("scaled_grouped_product", 100, lambda rng: _drawn(rng, "fp8")))
def scaled_grouped_product(experts: int, tokens: int, top: int, n: int, k: int) -> Call:
    """fp8 (e4m3) rows [tokens · top, k] by weights [experts, k, n], with a scale for each row and
    column, into bfloat16."""
    m = tokens * top
    ends, x = group_ends(experts, tokens, top), random(m, k, dtype="fp8")
    w = _by_columns(experts, k, n, "fp8")
    of_rows, of_columns = torch.rand(m) + 0.5, torch.rand(experts, n) + 0.5
    return lambda: torch.ops.aten._scaled_grouped_mm(
        x, w, of_rows, of_columns, ends, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def _by_columns(experts: int, k: int, n: int, dtype: str) -> Tensor:
    return random(experts, n, k, dtype=dtype).transpose(-2, -1)
