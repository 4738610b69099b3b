"""Calls that no fit sees: shapes drawn at random, odd sizes and views included.

Importing the package registers them all, kind "blind". `ridgepoint calibrate measure` takes them
with `--kind blind` alone. May import sweeps.
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
