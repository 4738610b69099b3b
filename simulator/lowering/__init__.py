"""Lowering of ops to the kernels that a GPU launches: importing this package registers its rules.

May import costs, hardware, timing, caches and varying; no torch.
"""

from simulator.lowering import (
    attention,
    calls,
    convolution,
    foreach,
    product,
    random,
    recurrent,
    reduction,
    transforms,
    turns,
)
from simulator.lowering.lower import Lowered, lower, share_kernels
from simulator.lowering.registry import launches

__all__ = [
    "Lowered", "attention", "calls", "convolution", "foreach", "launches", "lower", "product",
    "random", "recurrent", "reduction", "share_kernels", "transforms", "turns",
]  # fmt: skip
