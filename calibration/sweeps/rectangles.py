"""Causal attention with different numbers of queries and keys: the mask starts at the top left."""

from __future__ import annotations

from random import Random

from calibration.sweeps.attention import attention, attention_backward
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, pick, sweep, tokens, whole


def _layer(rng: Random, training: bool) -> Params | None:
    backend = pick(rng, {"efficient": 4.0, "cudnn": 4.0, "math": 1.0})
    half = pick(rng, {"bf16": 2.0, "fp16": 1.0})
    dtype = half if backend == "cudnn" or rng.random() < 0.5 else "fp32"
    heads, width = rng.choice([4, 8, 12, 16, 32]), rng.choice([32, 64, 64, 80, 128])
    batch, queries, keys = whole(rng, 1, 64), tokens(rng, 8, 4096), tokens(rng, 32, 8192)
    scores = batch * heads * queries * keys
    flops = 4.0 * scores * width * (3.5 if training else 1) * (8 if dtype == "fp32" else 1)
    largest = batch * heads * max(queries, keys) * width * ITEM_BYTES[dtype]
    if queries == keys or flops > 2e12 or largest > LARGEST_BYTES // 2 or scores < 1e5:
        return None
    if backend == "math" and scores > 1e8:
        return None
    return {
        "backend": backend,
        "dtype": dtype,
        "batch": batch,
        "heads": heads,
        "queries": queries,
        "keys": keys,
        "width": width,
        "interleaved": rng.random() < 0.6,
    }


@operation(sweep("causal_rectangle", 120, lambda rng: _layer(rng, training=False)))
def causal_rectangle(
    backend: str,
    dtype: str,
    batch: int,
    heads: int,
    queries: int,
    keys: int,
    width: int,
    interleaved: bool,
) -> Call:
    """Causal attention in which query i attends to the keys up to i, for any number of keys."""
    return attention(
        backend, dtype, batch, heads, heads, queries, keys, width, True, False, interleaved
    )


@operation(sweep("causal_rectangle_backward", 70, lambda rng: _layer(rng, training=True)))
def causal_rectangle_backward(
    backend: str,
    dtype: str,
    batch: int,
    heads: int,
    queries: int,
    keys: int,
    width: int,
    interleaved: bool,
) -> Call:
    """Gradients of queries, keys and values."""
    return attention_backward(
        backend, dtype, batch, heads, heads, queries, keys, width, True, False, interleaved
    )
