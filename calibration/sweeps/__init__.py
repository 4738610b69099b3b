"""What the libraries' kernels are timed on: importing this package registers every sweep of them.

A point is one call as networks make it. Kernels of one's own live in other packages and register
by the same decorator. Imports nothing else of calibration.
"""

from calibration.sweeps import (
    attention,
    awkward_convolutions,
    column_sums,
    convolutions,
    copies,
    embeddings,
    factorizations,
    fills,
    heads,
    indexing,
    large_tables,
    losses,
    norms,
    optimizers,
    permutes,
    pointwise,
    pooling,
    products,
    rectangles,
    recurrent,
    reductions,
    seldom,
    softmaxes,
    sorting,
    thin_products,
    transforms,
)
from calibration.sweeps.registry import (
    OPERATIONS,
    Call,
    Operation,
    Params,
    Point,
    operation,
    points,
)

FAMILIES = (
    attention,
    awkward_convolutions,
    column_sums,
    convolutions,
    copies,
    embeddings,
    factorizations,
    fills,
    heads,
    indexing,
    large_tables,
    losses,
    norms,
    optimizers,
    permutes,
    pointwise,
    pooling,
    products,
    rectangles,
    recurrent,
    reductions,
    seldom,
    softmaxes,
    sorting,
    thin_products,
    transforms,
)
"""The modules that register sweeps."""

__all__ = [
    "FAMILIES",
    "OPERATIONS",
    "Call",
    "Operation",
    "Params",
    "Point",
    "operation",
    "points",
]
