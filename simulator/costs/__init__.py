"""What each ATen op asks of a GPU: importing this package registers every family."""

from simulator.costs import (
    attention,
    convolution,
    copies,
    indexing,
    losses,
    matmul,
    norms,
    optimizers,
    pointwise,
    pooling,
    recurrent,
    reductions,
    sorting,
    views,
)
from simulator.costs.registry import COSTS, Work, cost, works

FAMILIES = (
    attention,
    convolution,
    copies,
    indexing,
    losses,
    matmul,
    norms,
    optimizers,
    pointwise,
    pooling,
    recurrent,
    reductions,
    sorting,
    views,
)
"""The modules that register costs."""

__all__ = ["COSTS", "FAMILIES", "Work", "cost", "works"]
