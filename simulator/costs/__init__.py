"""Cost of each ATen op in FLOPs, bytes and instructions: importing this package registers them all.

May import records and varying.
"""

from simulator.costs import (
    attention,
    batch_norms,
    communication,
    convolution,
    copies,
    distances,
    embeddings,
    factorizations,
    fills,
    foreach,
    group_norms,
    grouped_matmul,
    indexing,
    linear_algebra,
    linear_cross_entropy,
    losses,
    masks,
    matmul,
    matvec,
    norms,
    optimizers,
    padding,
    pointwise,
    pooling,
    recurrent,
    recurrent_cells,
    reductions,
    resampling,
    searching,
    segments,
    slices,
    softmaxes,
    sorting,
    special_functions,
    transforms,
    views,
)
from simulator.costs.registry import COSTS, Work, cost, works

__all__ = [
    "COSTS", "Work", "cost", "works",
    "attention", "batch_norms", "communication", "convolution", "copies", "distances",
    "embeddings", "factorizations", "fills", "foreach", "group_norms", "grouped_matmul",
    "indexing", "linear_algebra", "linear_cross_entropy", "losses", "masks", "matmul",
    "matvec", "norms", "optimizers", "padding", "pointwise", "pooling", "recurrent",
    "recurrent_cells", "reductions", "resampling", "searching", "segments", "slices", "softmaxes",
    "sorting", "special_functions", "transforms", "views",
]  # fmt: skip
