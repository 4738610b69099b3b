"""The time that an engine's attention kernel takes for each cached token of a decode.

A paged kernel reads each cached token once, at the highest memory rate of the card's kernels. With
latent attention all heads read the same 576 numbers, so that the products can take longer: for each
token, each head multiplies its query with the whole vector, and its weight with the latent. The
kernel (FlashMLA) has tiles of 64 heads.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from simulator.hardware.gpu import GPU
from simulator.planning.step.traced_step import sizes_of
from simulator.timing.profile import learned
from simulator.timing.rates import dram_reach

_ENGINES = Path(__file__).with_name("engine_kernels.toml")
_TILE = 64  # heads


@cache
def engine_kernels(engine: str) -> dict[str, Any]:
    """What is known of an engine's own kernels; empty for an engine without them."""
    return tomllib.loads(_ENGINES.read_text("utf-8")).get(engine, {})


def cached_token_s(
    engine: str, network: str, gpu: GPU, ranks: int, cache_bytes: float, dtype: str
) -> float:
    """Seconds for each cached token, of `cache_bytes` on each GPU, whose heads are divided among
    `ranks`. Products are computed in the dtype of the cache if the card can."""
    read_s = cache_bytes / (gpu.bandwidth_bytes_per_s * dram_reach(gpu, learned(gpu.id)))
    sizes = sizes_of(network)
    if "latent" not in sizes:
        return read_s
    heads = -(-sizes["heads"] // ranks // _TILE) * _TILE
    flops = 2 * heads * (2 * sizes["latent"] + sizes["rotated"]) * sizes["layers"]
    peak = gpu.peak("tensor", dtype) or gpu.peak("tensor", "bf16") or gpu.peak("tensor", "fp16")
    share = engine_kernels(engine)["latent_attention"]["share"]
    return max(read_s, flops / (share * peak)) if peak else read_s
