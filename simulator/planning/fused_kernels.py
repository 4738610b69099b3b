"""What an engine's fused kernels save over the kernels of the captured eager step.

A serving engine runs norms, rotations, activations and the quantisation of operands as few fused
kernels, as torch.compile does. Every layer saves alike: networks of one and of two layers, each
predicted with and without fusion, give what a layer saves and what the ends do. The saving grows
with the tokens of an iteration, whether they are decodes or a prompt's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.caches.lru import LRUCache
from simulator.networks.catalogue import constructor_sizes, network
from simulator.scenario.predict import predict
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

Floats = NDArray[np.float64]

_SAVED: LRUCache[list[float]] = LRUCache(512)
_CACHED = 256  # tokens of the decodes, whose attention is not fused
_POINTS = ((True, 1), (True, 256), (False, 2048))  # decode or prefill, and tokens


def saved_s(prefill: Scenario, decode: Scenario, tokens: Floats) -> Floats:
    """Seconds saved in iterations of these many tokens, by captured scenarios of a network's
    prefill and decode. At least 0; linear between the points and beyond them."""
    at = _SAVED.get((prefill.key, decode.key), lambda: _at_points(prefill, decode))
    known = [count for _, count in _POINTS]
    slope = (at[-1] - at[-2]) / (known[-1] - known[-2])
    beyond = np.maximum(tokens - known[-1], 0.0) * slope
    return np.maximum(np.interp(tokens, known, at) + beyond, 0.0)


def _at_points(prefill: Scenario, decode: Scenario) -> list[float]:
    """Seconds saved at each of `_POINTS`."""
    at: list[float] = []
    for decodes, count in _POINTS:
        scenario = decode if decodes else prefill
        batch, seq = (count, _CACHED) if decodes else (1, count)
        one, two = (_saved(replace(scenario, batch=batch, seq=seq), n) for n in (1, 2))
        at.append(one + (_layers(scenario.network) - 1) * (two - one))
    return at


def _saved(scenario: Scenario, layers: int) -> float:
    small = replace(scenario, sizes={**scenario.sizes, "layers": layers})
    served = replace(small, sizes={**small.sizes, "merged": True})
    fused = apply(served, "fusion", {"level": "compiled"})
    return predict(small).period_s - predict(fused).period_s


def _layers(name: str) -> int:
    return int(network(name).sizes.get("layers", constructor_sizes(name)["layers"]))
