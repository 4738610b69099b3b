"""The time of an engine's attention kernels in decodes.

A paged kernel takes a fixed time in each layer and reads each cached token once. Its fixed time and
its share of the bandwidth are fitted to measured kernels by compute capability; cards without a fit
keep the fixed time of the traced kernel, and read at the highest memory rate of the card's kernels.

With latent attention all heads read the same 576 numbers, so that the products can take longer: for
each token, each head multiplies its query with the whole vector, and its weight with the latent.
The kernel (FlashMLA) has tiles of 64 heads.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.planning.step.scenarios import WHATIFS
from simulator.planning.step.traced_step import few_layers, layer_kernels, sizes_of
from simulator.scenario.scenario import Scenario
from simulator.timing.profile import learned
from simulator.timing.rates import dram_reach

Floats = NDArray[np.float64]

_ENGINES = Path(__file__).with_name("engine_kernels.toml")
_TILE = 64  # heads
_ATTENTION = "scaled_dot_product"  # in the names of its kernels


class Attention(NamedTuple):
    """Seconds of each call, and the share of the bandwidth at which it reads the cache."""

    fixed_s: float
    share: float


@cache
def engine_kernels(engine: str) -> dict[str, Any]:
    """The fitted constants of an engine's own kernels, including those shared with another engine;
    empty for an engine without them."""
    known = tomllib.loads(_ENGINES.read_text("utf-8")).get(engine, {})
    return engine_kernels(known["like"]) | known if "like" in known else known


def check_card(engine: str, gpu: GPU) -> None:
    """Raise InputError if the engine does not run on a card."""
    least = engine_kernels(engine).get("least_capability")
    own = gpu.compute_capability
    if least is not None and (own is None or own < tuple(least)):
        major, minor = least
        has = "none" if own is None else f"{own[0]}.{own[1]}"
        raise InputError(
            f"{engine} runs on NVIDIA cards of compute capability {major}.{minor} and later; "
            f"{gpu.name} has {has}"
        )


def of_card(known: dict[str, Any], gpu: GPU) -> dict[str, Any] | None:
    """The entry of the card's compute capability, such as "sm90"; all of 10.x share one."""
    if gpu.compute_capability is None:
        return None
    major, minor = gpu.compute_capability
    return known.get(f"sm{major}{minor}") or (known.get("sm100") if major == 10 else None)


def measured_attention(engine: str, network: str, gpu: GPU) -> Attention | None:
    """The engine's kernel on the card; None for latent attention, and for cards without a fit."""
    if "latent" in sizes_of(network):
        return None
    fit = of_card(engine_kernels(engine).get("attention", {}), gpu)
    return Attention(fit["fixed_s"], fit["share"]) if fit else None


def cached_tokens_s(
    engine: str,
    network: str,
    gpu: GPU,
    ranks: int,
    cache_bytes: float,
    dtype: str,
    traced: Sequence[Floats],
) -> list[Floats]:
    """Seconds for each cached token by batch in the engine's kernel, for each of the `traced`
    times: its own time, but at most the traced one on cards without a fit, and for networks in
    which some layers attend to a window."""
    own_s = cached_token_s(engine, network, gpu, ranks, cache_bytes, dtype)
    fit = measured_attention(engine, network, gpu)
    if fit is None or sizes_of(network).get("window"):
        return [np.minimum(each, own_s) for each in traced]
    return [np.full_like(each, own_s) for each in traced]


def cached_token_s(
    engine: str, network: str, gpu: GPU, ranks: int, cache_bytes: float, dtype: str
) -> float:
    """Seconds for each cached token, of `cache_bytes` on each GPU, whose heads are divided among
    `ranks`. Products are computed in the dtype of the cache if the card can."""
    fit = measured_attention(engine, network, gpu)
    share = dram_reach(gpu, learned(gpu.id)) if fit is None else fit.share
    read_s = cache_bytes / (gpu.bandwidth_bytes_per_s * share)
    sizes = sizes_of(network)
    if "latent" not in sizes:
        return read_s
    heads = -(-sizes["heads"] // ranks // _TILE) * _TILE
    flops = 2 * heads * (2 * sizes["latent"] + sizes["rotated"]) * sizes["layers"]
    peak = gpu.peak("tensor", dtype) or gpu.peak("tensor", "bf16") or gpu.peak("tensor", "fp16")
    computed = engine_kernels(engine)["latent_attention"]["share"]
    return max(read_s, flops / (computed * peak)) if peak else read_s


def prompt_attention_s(engine: str, network: str, gpu: GPU, ranks: int) -> float | None:
    """Seconds per squared token of the attention within prompts, whose heads are divided among
    `ranks`: 2 · heads · width FLOPs in each layer that attends to all tokens. None for latent
    attention, and for cards and head widths without a fit."""
    sizes = sizes_of(network)
    shares = of_card(engine_kernels(engine).get("prompt_attention", {}), gpu)
    peak = gpu.peak("tensor", "bf16")
    if "latent" in sizes or shares is None or not peak:
        return None
    width = sizes.get("d") or sizes["width"] // sizes["heads"]
    share = shares.get(f"heads_of_{width}")
    layers = sizes["layers"] // (2 if sizes.get("window") else 1)  # every other one has a window
    return 2 * sizes["heads"] * width * layers / ranks / (share * peak) if share else None


def fixed_difference_s(engine: str, decode: Scenario, gpu: GPU, batches: Sequence[int]) -> Floats:
    """Seconds by which the engine's attention without cached tokens takes longer than the traced
    kernels, in the whole decode step of each batch. 0 for cards without a fit."""
    fit = measured_attention(engine, decode.network, gpu)
    if fit is None:
        return np.zeros(len(batches))
    layers = sizes_of(decode.network)["layers"]
    return layers * (fit.fixed_s - _traced_s(decode, [(b, 1) for b in batches]))


def _traced_s(scenario: Scenario, points: Sequence[tuple[int, int]]) -> Floats:
    """Seconds of the traced kernels of attention in one layer, at points (batch, sequence): of all
    kernels of the op, which on some cards also fills or sums partial results."""
    seconds = [
        sum(k.duration_s for k in layer_kernels(scenario, b, n) if _ATTENTION in k.name)
        for b, n in points
    ]
    return np.array(seconds) / few_layers(scenario)[1]


def linear_prompts_s(
    engine: str, prefill: Scenario, gpu: GPU, lengths: Sequence[int], period_s: Floats
) -> Floats | None:
    """Seconds of prefills of one prompt of each length, which take `period_s` with the traced
    kernels, without the products of attention: the traced kernels of attention are left out, and
    the engine's kernel adds its fixed time in each layer. None without a fit, and for networks
    in which some layers attend to a window, because `prompt_attention_s` leaves these out."""
    fit = measured_attention(engine, prefill.network, gpu)
    sizes = sizes_of(prefill.network)
    if fit is None or sizes.get("window"):
        return None
    # whatever the precision of the products, attention is computed in the plain dtype
    others = tuple(a for a in prefill.whatifs if a.name not in WHATIFS.values())
    plain = replace(prefill, whatifs=others)
    traced_s = _traced_s(plain, [(1, n) for n in lengths])
    return period_s + sizes["layers"] * (fit.fixed_s - traced_s)
