"""scaled_dot_product_attention by each of its backends, called by name.

`F.scaled_dot_product_attention` chooses one of these ops; direct calls are the same on any GPU and
need no context for tracing.
"""

from __future__ import annotations

from random import Random

import torch
from torch import Tensor

from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, pick, sweep, tokens, whole

aten = torch.ops.aten
BACKENDS = {"flash": 4.0, "cudnn": 4.0, "efficient": 3.0, "math": 1.5}
MOST_FLOPS = {"flash": 4e12, "cudnn": 4e12, "efficient": 1.5e12, "math": 2e11}
_MOST_SCORES = 1e8  # scores, which the math backend stores about five times in float32


def _layer(rng: Random, training: bool) -> Params | None:
    backend = pick(rng, BACKENDS)
    half = pick(rng, {"bf16": 2.0, "fp16": 1.0})
    dtype = half if backend in ("flash", "cudnn") or rng.random() < 0.5 else "fp32"
    heads = rng.choice([4, 6, 8, 12, 16, 20, 24, 32, 40, 64])
    grouped = backend in ("flash", "cudnn") and rng.random() < 0.3
    kv_heads = heads // rng.choice([2, 4]) if grouped and heads % 4 == 0 else heads
    widths = [64, 64, 128, 128, 32, 80, 96]
    wide = backend != "cudnn" and not training
    width = rng.choice([*widths, 256] if wide else widths)
    batch, queries = whole(rng, 1, 256), tokens(rng, 32, 16384)
    kind = rng.random()
    causal, masked, keys = False, False, queries
    if kind < 0.3:
        causal = True
    elif kind < 0.5 and not training:
        queries, keys = 1, tokens(rng, 64, 32768)  # decoding
        masked = backend != "flash" and rng.random() < 0.3
    elif kind < 0.65 and backend != "flash":
        masked = True
    elif kind < 0.75:
        keys = tokens(rng, 32, 4096)  # cross-attention
    if masked:
        keys = 16 * -(-keys // 16)  # rows that the efficient kernel reads without padding
    scores = batch * heads * queries * keys
    largest = batch * heads * max(queries, keys) * width * ITEM_BYTES[dtype]
    bias = batch * queries * keys * ITEM_BYTES[dtype] if masked else 0
    flops = 4.0 * scores * width * (3.5 if training else 1) * (8 if dtype == "fp32" else 1)
    if flops > MOST_FLOPS[backend] or max(largest, bias) > LARGEST_BYTES // 2:
        return None
    if backend == "math" and scores > _MOST_SCORES:
        return None
    return {
        "backend": backend,
        "dtype": dtype,
        "batch": batch,
        "heads": heads,
        "kv_heads": kv_heads,
        "queries": queries,
        "keys": keys,
        "width": width,
        "causal": causal,
        "masked": masked,
        "interleaved": rng.random() < 0.7,
    }


@operation(sweep("attention", 700, lambda rng: _layer(rng, training=False)))
def attention(
    backend: str,
    dtype: str,
    batch: int,
    heads: int,
    kv_heads: int,
    queries: int,
    keys: int,
    width: int,
    causal: bool,
    masked: bool,
    interleaved: bool,
) -> Call:
    """Attention of [batch, heads, queries, width] over `keys` keys. With `interleaved`, the heads
    of a token are contiguous, as after a projection; `masked` adds a [batch, 1, queries, keys]
    bias."""
    q = _heads(batch, heads, queries, width, dtype, interleaved)
    k, v = (_heads(batch, kv_heads, keys, width, dtype, interleaved) for _ in range(2))
    mask = random(batch, 1, queries, keys, dtype=dtype) if masked else None
    return lambda: _run(backend, q, k, v, mask, causal)


@operation(sweep("attention_backward", 500, lambda rng: _layer(rng, training=True)))
def attention_backward(
    backend: str,
    dtype: str,
    batch: int,
    heads: int,
    kv_heads: int,
    queries: int,
    keys: int,
    width: int,
    causal: bool,
    masked: bool,
    interleaved: bool,
) -> Call:
    """Gradients of queries, keys and values; arguments as for `attention`."""
    q = _heads(batch, heads, queries, width, dtype, interleaved).requires_grad_()
    k, v = (
        _heads(batch, kv_heads, keys, width, dtype, interleaved).requires_grad_() for _ in range(2)
    )
    mask = random(batch, 1, queries, keys, dtype=dtype) if masked else None
    return backward(_run(backend, q, k, v, mask, causal), (q, k, v))


def _heads(
    batch: int, heads: int, length: int, width: int, dtype: str, interleaved: bool
) -> Tensor:
    if interleaved:
        return random(batch, length, heads, width, dtype=dtype).transpose(1, 2)
    return random(batch, heads, length, width, dtype=dtype)


def _run(
    backend: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool
) -> Tensor:
    scale = q.shape[-1] ** -0.5
    if backend == "flash":
        return aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False, scale=scale)[0]
    if backend == "math":
        return aten._scaled_dot_product_attention_math(q, k, v, mask, 0.0, causal, scale=scale)[0]
    training = q.requires_grad
    if backend == "efficient":
        mask = None if mask is None else mask.expand(-1, q.shape[1], -1, -1)
        return aten._scaled_dot_product_efficient_attention(
            q, k, v, mask, training, 0.0, causal, scale=scale
        )[0]
    return aten._scaled_dot_product_cudnn_attention(
        q, k, v, mask, training, 0.0, causal, False, scale=scale
    )[0]
