"""What each ATen op asks of a GPU: importing this package registers every family."""

from simulator.costs import (
    attention,
    batch_norms,
    communication,
    convolution,
    copies,
    embeddings,
    fills,
    group_norms,
    indexing,
    losses,
    matmul,
    norms,
    optimizers,
    pointwise,
    pooling,
    recurrent,
    reductions,
    softmaxes,
    sorting,
    views,
)
from simulator.costs.registry import COSTS, Work, cost, works

FAMILIES = (
    attention,
    batch_norms,
    communication,
    convolution,
    copies,
    embeddings,
    fills,
    group_norms,
    indexing,
    losses,
    matmul,
    norms,
    optimizers,
    pointwise,
    pooling,
    recurrent,
    reductions,
    softmaxes,
    sorting,
    views,
)
"""The modules that register costs."""

__all__ = ["COSTS", "FAMILIES", "Work", "cost", "works"]
