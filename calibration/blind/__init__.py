"""Calls that no fit uses: shapes drawn at random, including odd sizes and views.

Importing the package registers them all as kind "blind". `ridgepoint calibrate measure` measures
them only with `--kind blind`. May import sweeps.
"""

from calibration.blind import (
    attention,
    convolutions,
    copies,
    elements,
    indexing,
    losses,
    norms,
    optimizers,
    pictures,
    products,
    reductions,
)
from calibration.sweeps.registry import Kind

KIND: Kind = "blind"
FAMILIES = (
    attention,
    convolutions,
    copies,
    elements,
    indexing,
    losses,
    norms,
    optimizers,
    pictures,
    products,
    reductions,
)
"""The modules that register calls."""
