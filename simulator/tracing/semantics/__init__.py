"""The layer of GPU semantics: importing it registers every rule."""

from simulator.tracing.semantics import (
    attention,
    dropout,
    normalization,
    recurrent,
    softmax,
)
from simulator.tracing.semantics.registry import Situation, gpu_semantics

__all__ = [
    "Situation",
    "attention",
    "dropout",
    "gpu_semantics",
    "normalization",
    "recurrent",
    "softmax",
]
