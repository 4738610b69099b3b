"""Cost of each ATen op in FLOPs, bytes and instructions: importing this package registers them all.

May import records and varying.
"""

from simulator.costs import (
    attention,
    composites,
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
from simulator.costs.compiled_traits import LISTED, Traits, listed
from simulator.costs.registry import (
    COSTS,
    DATA_DEPENDENT,
    TRAITS,
    WAITS,
    Work,
    cost,
    traits_of,
    works,
)

__all__ = [
    "COSTS", "DATA_DEPENDENT", "LISTED", "TRAITS", "WAITS",
    "Traits", "Work", "cost", "listed", "traits_of", "works",
    "attention", "composites", "indexing", "kernels", "linear_algebra", "matmul", "movement",
    "normalization", "pointwise", "recurrent", "reductions", "spatial",
]  # fmt: skip
