"""scaled_dot_product_attention as users call it: torch chooses the backend."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.blind.draws import blind
from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, whole

_MASKS = {"none": 4.0, "causal": 4.0, "bool": 1.5, "float": 1.5}
_MOST_FLOPS = {"fp32": 4e10, "bf16": 4e11, "fp16": 4e11}


def _attention(rng: Random) -> Params | None:
    kind, mask = dtype(rng), pick(rng, _MASKS)
    batch, heads = whole(rng, 1, 64), whole(rng, 1, 40)
    shared = rng.choice([1, 1, 1, 2, 4])
    heads = -(-heads // shared) * shared
    width = rng.choice([16, 32, 40, 48, 64, 64, 72, 80, 96, 128, 128, 192, 256])
    queries = whole(rng, 1, 4096)
    keys = queries if mask == "causal" or rng.random() < 0.7 else whole(rng, 16, 8192)
    scores = batch * heads * queries * keys
    largest = batch * heads * max(queries, keys) * width * ITEM_BYTES[kind]
    if 4 * scores * width > _MOST_FLOPS[kind] or max(largest, 4 * scores) > LARGEST_BYTES:
        return None
    return {
        "dtype": kind,
        "mask": mask,
        "batch": batch,
        "heads": heads,
        "shared": shared,
        "queries": queries,
        "keys": keys,
        "width": width,
        "interleaved": rng.random() < 0.6,
    }


def _heads(point: Params, heads: int, length: int, grad: bool) -> Tensor:
    sizes, dtype = (point["batch"], heads, length, point["width"]), point["dtype"]
    if point["interleaved"]:
        batch, heads, length, width = sizes
        tensor = random(batch, length, heads, width, dtype=dtype).transpose(1, 2)
    else:
        tensor = random(*sizes, dtype=dtype)
    return tensor.detach().requires_grad_(grad)


def _mask(point: Params) -> Tensor | None:
    kind, keys = point["mask"], point["keys"]
    sizes = (point["batch"], 1, point["queries"], keys)
    if kind == "bool":  # every query attends to its first key, since a row without keys gives NaN
        return random(*sizes, dtype="bool") | (torch.arange(keys) == 0)
    return random(*sizes, dtype=point["dtype"]) if kind == "float" else None


def _call(point: Params, grad: bool) -> tuple[Callable[[], Tensor], list[Tensor]]:
    shared, heads = point["shared"], point["heads"]
    q = _heads(point, heads, point["queries"], grad)
    k, v = (_heads(point, heads // shared, point["keys"], grad) for _ in range(2))
    bias, causal = _mask(point), point["mask"] == "causal"

    def call() -> Tensor:
        return F.scaled_dot_product_attention(
            q, k, v, bias, is_causal=causal, enable_gqa=shared > 1
        )

    return call, [q, k, v]


@blind(36, _attention)
def blind_attention(**point: Any) -> Call:
    """An attention call with arguments drawn by `_attention`. Each key head serves `shared` query
    heads; with `interleaved`, the heads of a token are contiguous."""
    return _call(point, grad=False)[0]


@blind(24, _attention)
def blind_attention_backward(**point: Any) -> Call:
    """Gradients of queries, keys and values."""
    call, inputs = _call(point, grad=True)
    return backward(call(), inputs)
