"""The matrix products of an engine in low precision, for a few tokens.

A product of few tokens takes the time in which its weights are read. PyTorch's kernels on a card
that was not measured reach the share of the bandwidth that they reach on a measured card. The share
of an engine's own kernels is fitted to measured products of large weights by compute capability,
precision and number of tokens; smaller products, and more tokens, keep the traced kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.planning.step.engine_attention import engine_kernels, of_card
from simulator.planning.step.traced_step import few_layers, layer_kernels, repeats
from simulator.prediction import Kernel
from simulator.scenario.scenario import Scenario

Floats = NDArray[np.float64]

_LEAST_BYTES = 8e6  # of the products to which shares are fitted
_LAYER = re.compile(r"\.(\d+)\.")


def products_saved_s(
    engine: str, scenario: Scenario, gpu: GPU, precision: str, points: Sequence[tuple[int, int]]
) -> Floats:
    """Seconds that the engine saves on the traced products in decode steps at points (batch,
    sequence); below 0 if its kernels are slower. 0 for cards and precisions without a fit."""
    of_precision = of_card(engine_kernels(engine).get("products", {}), gpu) or {}
    fit = of_precision.get(precision)
    if fit is None:
        return np.zeros(len(points))
    tokens = np.log2(fit["tokens"])
    saved: list[float] = []
    for batch, seq in points:
        if batch > fit["tokens"][-1]:
            saved.append(0.0)
            continue
        share = float(cast("float", np.interp(np.log2(batch), tokens, fit["share"])))
        rate = gpu.bandwidth_bytes_per_s * share
        kernels = layer_kernels(scenario, batch, seq)
        saved.append(sum(_layers(scenario, k) * _saved_s(k, rate) for k in kernels))
    return np.array(saved)


def _saved_s(kernel: Kernel, bytes_per_s: float) -> float:
    is_product = kernel.name.startswith("_scaled_mm") and kernel.family in ("gemm", "gemv")
    if not is_product or kernel.bytes < _LEAST_BYTES:
        return 0.0
    own_s = kernel.fixed_s + max(kernel.compute_s, kernel.bytes / bytes_per_s)
    return kernel.duration_s - own_s


def _layers(scenario: Scenario, kernel: Kernel) -> float:
    """How often the whole network runs a kernel of the larger network of `few_layers`."""
    layer = _LAYER.search(f".{kernel.module}.")
    first = few_layers(scenario)[0]
    return repeats(scenario) if layer is not None and int(layer[1]) >= first else 1.0
