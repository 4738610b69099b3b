"""Cost of each ATen op in FLOPs, bytes and instructions: importing this package registers them all.

May import records and varying.
"""

from simulator.costs import (
    attention,
    indexing,
    kernels,
    linear_algebra,
    matmul,
    movement,
    normalization,
    pointwise,
    recurrent,
    reductions,
    spatial,
)
from simulator.costs.registry import COSTS, DATA_DEPENDENT, WAITS, Work, cost, works

__all__ = [
    "COSTS", "DATA_DEPENDENT", "WAITS", "Work", "cost", "works",
    "attention", "indexing", "kernels", "linear_algebra", "matmul", "movement", "normalization",
    "pointwise", "recurrent", "reductions", "spatial",
]  # fmt: skip
