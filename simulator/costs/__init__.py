"""What each ATen op asks of a GPU: importing this package registers every family.

May import records and varying.
"""

from simulator.costs import (
    attention,
    batch_norms,
    communication,
    convolution,
    copies,
    embeddings,
    factorizations,
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
    seldom,
    softmaxes,
    sorting,
    transforms,
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
    factorizations,
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
    seldom,
    softmaxes,
    sorting,
    transforms,
    views,
)
"""The modules that register costs."""

__all__ = ["COSTS", "FAMILIES", "Work", "cost", "works"]
