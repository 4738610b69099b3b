"""Small functions, compiled by `torch.compile`, on which generated kernels are timed.

Importing the package registers them all, kind "generated". May import sweeps, cases, measure and
record.
"""

from calibration.generated import functions, layouts, pointwise, rows, training

FAMILIES = (functions, layouts, pointwise, rows, training)
"""The modules that register functions."""

__all__ = ["FAMILIES"]
