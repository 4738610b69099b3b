"""What the libraries' kernels are timed on: importing this package registers every sweep of them.

A point is one call as networks make it. Kernels of one's own live in other packages and register
by the same decorator.
"""

from calibration.sweeps import (
    attention,
    convolutions,
    copies,
    embeddings,
    fills,
    heads,
    indexing,
    losses,
    norms,
    optimizers,
    pointwise,
    pooling,
    products,
    recurrent,
    reductions,
    softmaxes,
    sorting,
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
    convolutions,
    copies,
    embeddings,
    fills,
    heads,
    indexing,
    losses,
    norms,
    optimizers,
    pointwise,
    pooling,
    products,
    recurrent,
    reductions,
    softmaxes,
    sorting,
)
"""The modules that register sweeps."""

__all__ = [
    "FAMILIES", "OPERATIONS", "Call", "Operation", "Params", "Point", "operation", "points",
]  # fmt: skip
