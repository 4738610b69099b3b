"""The time that an engine's fused kernels save over the kernels of the captured eager step.

A serving engine runs norms, rotations, activations and the quantisation of operands as a few fused
kernels, as torch.compile does. Every layer saves the same: predictions of networks of few layers
(`traced_step.few_layers`), with and without fusion, give the time saved by a layer and by the
embedding and head. The saving grows with the tokens of an iteration, whether they are decodes or a
prompt's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.caches.lru import LRUCache
from simulator.errors import InputError
from simulator.planning.step.traced_step import few_layers, repeats
from simulator.scenario.predict_many import step_of
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.simulate.step_columns import as_columns
from simulator.simulate.traces import simulated
from simulator.whatif import apply

Floats = NDArray[np.float64]

_SAVED: LRUCache[list[float]] = LRUCache(512)
_CACHED = 256  # cached tokens of the decodes, whose attention is not fused
_POINTS = ((True, 1), (True, 256), (False, 2048))  # whether it is a decode, and its tokens


def saved_s(prefill: Scenario, decode: Scenario, tokens: Floats) -> Floats:
    """Seconds saved in iterations of `tokens` tokens, from the captured scenarios of a network's
    prefill and decode. At least 0; linear between the points and beyond them."""
    at = _SAVED.get((prefill.key, decode.key), lambda: _at_points(prefill, decode))
    known = [count for _, count in _POINTS]
    slope = (at[-1] - at[-2]) / (known[-1] - known[-2])
    beyond = np.maximum(tokens - known[-1], 0.0) * slope
    return np.maximum(np.interp(tokens, known, at) + beyond, 0.0)


def _at_points(prefill: Scenario, decode: Scenario) -> list[float]:
    """Seconds saved at each of `_POINTS`, from networks of few layers, plain and fused."""
    scenarios: list[Scenario] = []
    for decodes, count in _POINTS:
        batch, seq = (count, _CACHED) if decodes else (1, count)
        at = replace(decode if decodes else prefill, batch=batch, seq=seq)
        for layers in few_layers(decode):
            small = replace(at, sizes={**at.sizes, "layers": layers})
            served = replace(small, sizes={**small.sizes, "merged": True})
            scenarios += [small, apply(served, "fusion", {"level": "compiled"})]
    table, refused = simulated([step_of(resolve(scenario)) for scenario in scenarios])
    if refused:
        raise InputError(next(iter(refused.values())))
    plain_s, fused_s = as_columns(table).period_s.reshape(len(_POINTS), 2, 2).transpose(2, 0, 1)
    saved = (plain_s - fused_s).tolist()
    return [small + repeats(decode) * (large - small) for small, large in saved]
