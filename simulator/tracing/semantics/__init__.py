"""Rules for ops that a GPU build dispatches differently; importing this registers them.

May import torch, hardware and `simulator.tracing.recorder`.
"""

from simulator.tracing.semantics import (
    attention,
    cells,
    convolution,
    ctc,
    dropout,
    fast_path,
    foreach,
    grid_sampler,
    meta_gaps,
    meta_kernels,
    normalization,
    one_hot,
    optimizers,
    products,
    recurrent,
    softmax,
)
from simulator.tracing.semantics.registry import Situation, gpu_semantics

__all__ = [
    "Situation",
    "attention",
    "cells",
    "convolution",
    "ctc",
    "dropout",
    "fast_path",
    "foreach",
    "gpu_semantics",
    "grid_sampler",
    "meta_gaps",
    "meta_kernels",
    "normalization",
    "one_hot",
    "optimizers",
    "products",
    "recurrent",
    "softmax",
]
