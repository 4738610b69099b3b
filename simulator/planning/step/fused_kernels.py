"""Steps with an engine's fused kernels instead of the kernels of the captured eager step.

A serving engine runs norms, rotations, activations and the quantisation of operands as a few fused
kernels, as torch.compile does, and stores weights of the same operand together. Every layer is the
same, so that predictions of networks of few layers (`traced_step.few_layers`) are extended to all
layers. Decodes are predicted fused at several batches; for prompts, the saving over the plain
kernels grows with the tokens of an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.caches.lru import LRUCache
from simulator.errors import InputError
from simulator.planning.step.traced_step import few_layers, repeats
from simulator.scenario.file_stamps import file_stamps
from simulator.scenario.predict_many import step_of
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.simulate.step_columns import as_columns
from simulator.simulate.traces import simulated
from simulator.whatif import apply

Floats = NDArray[np.float64]

_SECONDS: LRUCache[tuple[Floats, Floats]] = LRUCache(512)
PROMPT = 2048
"""Tokens of the prompt at which the saving is predicted."""


def plain_and_fused_s(
    scenario: Scenario, points: Sequence[tuple[int, int]]
) -> tuple[Floats, Floats]:
    """Seconds of a captured scenario at points (batch, sequence), with PyTorch's kernels and with
    fused ones."""
    key = scenario.key, file_stamps(scenario), tuple(points)
    return _SECONDS.get(key, lambda: _extended(scenario, points))


def saved_s(
    prefill: Scenario, batches: Sequence[int], saved: Floats, more_s: float, tokens: Floats
) -> Floats:
    """Seconds saved in iterations of `tokens` tokens: linear between and beyond the decodes of
    `batches`, which save `saved`, and a prompt of `PROMPT` tokens. The prompt saves the difference
    between its two predictions and, by other kernels, `more_s`. Never negative."""
    plain, fused = plain_and_fused_s(prefill, [(1, PROMPT)])
    few = [(batch, s) for batch, s in zip(batches, saved, strict=True) if batch < PROMPT]
    known, at = (
        np.array(c) for c in zip(*few, (PROMPT, plain[0] - fused[0] + more_s), strict=True)
    )
    slope = (at[-1] - at[-2]) / (known[-1] - known[-2])
    beyond = np.maximum(tokens - known[-1], 0.0) * slope
    return np.maximum(np.interp(tokens, known, at) + beyond, 0.0)


def _extended(scenario: Scenario, points: Sequence[tuple[int, int]]) -> tuple[Floats, Floats]:
    """Seconds at the points, extended from networks of few layers to all layers."""
    scenarios: list[Scenario] = []
    for batch, seq in points:
        for layers in few_layers(scenario):
            sizes = {**scenario.sizes, "layers": layers}
            small = replace(scenario, batch=batch, seq=seq, sizes=sizes)
            served = replace(small, sizes={**sizes, "merged": True})
            scenarios += [small, apply(served, "fusion", {"level": "compiled"})]
    table, refused = simulated([step_of(resolve(each)) for each in scenarios])
    if refused:
        raise InputError(next(iter(refused.values())))
    small_s, large_s = as_columns(table).period_s.reshape(len(points), 2, 2).transpose(1, 2, 0)
    plain_s, fused_s = small_s + repeats(scenario) * (large_s - small_s)
    return plain_s, fused_s
