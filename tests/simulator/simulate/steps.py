"""Small networks of the catalogue, traced and predicted once per process."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
import torch

from simulator import predict_trace
from simulator.errors import InputError
from simulator.networks.catalogue import build
from simulator.prediction import Prediction
from simulator.records import Trace
from simulator.tracing import trace

SIZES: dict[str, dict[str, Any]] = {
    # as in the catalogue, but with the smallest number of layers that the input allows
    "mlp-tiny": dict(),
    "mlp-wide": dict(),
    "chain": dict(),
    "bert-base": dict(layers=3, vocab=4000),
    "llama3-1b": dict(layers=2, vocab=4000, width=1024),
    "resnet18": dict(),
    "lstm": dict(vocab=2000),
    "mixtral-small": dict(layers=1, vocab=2000),
}
BATCH = {"mlp-tiny": 32, "mlp-wide": 1024, "chain": 1}
NETWORKS = [*SIZES]
EAGER = [name for name in NETWORKS if name != "mixtral-small"]
"""Networks that do not wait for the GPU."""


@lru_cache
def traced(name: str, phase: str = "inference", dtype: str | None = None) -> Trace:
    with torch.device("meta"):
        module = build(name, **SIZES[name])
        training = phase == "training"
        inputs = module.example_inputs(BATCH.get(name, 4), 128, training)  # pyright: ignore
    if dtype:
        half = getattr(torch, dtype)
        module = module.to(half)
        inputs = tuple(x.to(half) if x.is_floating_point() else x for x in inputs)
    return trace(module, inputs, phase=phase)


@lru_cache
def answer(
    name: str,
    gpu: str = "h200",
    mode: str = "eager",
    phase: str = "inference",
    dtype: str | None = None,
) -> Prediction:
    return predict_trace(traced(name, phase, dtype), gpu=gpu, mode=mode)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)
