"""Calls that time library kernels; importing this package registers all sweeps.

A point is one call with arguments as in networks. Our own kernels are in other packages and use the
same decorator. Imports no other package of calibration.
"""

from calibration.sweeps import (
    attention,
    column_sums,
    experts,
    factorizations,
    losses,
    norms,
    optimizers,
    pointwise,
    products,
    rectangles,
    recurrent,
    reductions,
    seldom,
    softmaxes,
    thin_products,
    transforms,
    varied_rows,
)
from calibration.sweeps.functions import sweeps as functions
from calibration.sweeps.indexing import along, elements, embeddings, large_tables, sorting
from calibration.sweeps.movement import copies, fills, heads, permutes
from calibration.sweeps.registry import (
    OPERATIONS,
    Call,
    Operation,
    Params,
    Point,
    operation,
    points,
)
from calibration.sweeps.spatial import (
    awkward_convolutions,
    convolutions,
    grouped_convolutions,
    network_layers,
    pooling,
    resized_tables,
    shaped_convolutions,
    sliding,
    uneven_groups,
    varied_convolutions,
    varied_pictures,
)

FAMILIES = (
    *(
        attention,
        column_sums,
        experts,
        factorizations,
        losses,
        norms,
        optimizers,
        pointwise,
        products,
    ),
    *(rectangles, recurrent, reductions, seldom, softmaxes, thin_products, transforms, varied_rows),
    functions,
    *(along, elements, embeddings, large_tables, sorting),
    *(copies, fills, heads, permutes),
    *(awkward_convolutions, convolutions, grouped_convolutions),
    *(network_layers, pooling, sliding),
    *(resized_tables, shaped_convolutions, uneven_groups, varied_convolutions, varied_pictures),
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
