"""The products of experts in an engine's own kernels.

PyTorch's grouped products on a card that was not measured reach the share of the bandwidth that
they reach on a measured one. An engine's kernels for such a card (TensorRT-LLM's for Blackwell)
read the weights of experts faster, at the highest memory rate of the card's kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.planning.step.engine_attention import engine_kernels, of_card
from simulator.planning.step.traced_step import few_layers, layer_kernels, sizes_of
from simulator.scenario.scenario import Scenario
from simulator.timing.profile import learned
from simulator.timing.rates import dram_reach

Floats = NDArray[np.float64]


def experts_saved_s(
    engine: str, scenario: Scenario, gpu: GPU, points: Sequence[tuple[int, int]]
) -> Floats:
    """Seconds that the engine saves on the traced products of experts in steps at points (batch,
    sequence). 0 for other networks, and for cards without such kernels."""
    sizes = sizes_of(scenario.network)
    if "experts" not in sizes or of_card(engine_kernels(engine).get("experts", {}), gpu) is None:
        return np.zeros(len(points))
    rate = gpu.bandwidth_bytes_per_s * dram_reach(gpu, learned(gpu.id))
    dense = sizes.get("dense", 0)
    times = (sizes["layers"] - dense) / (few_layers(scenario)[1] - dense)
    saved: list[float] = []
    for batch, seq in points:
        products = [k for k in layer_kernels(scenario, batch, seq) if "grouped_mm" in k.name]
        own_s = [max(k.compute_s, k.bytes / rate) + k.fixed_s for k in products]
        saved.append(sum(max(k.duration_s - s, 0.0) for k, s in zip(products, own_s, strict=True)))
    return times * np.array(saved)
