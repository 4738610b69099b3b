"""What generated kernels are timed on: small functions as `torch.compile` compiles them.

Importing the package registers them all, kind "generated". May import sweeps, cases, measure and
record.
"""

from calibration.generated import functions, layouts, pointwise, rows, training

FAMILIES = (functions, layouts, pointwise, rows, training)
"""The modules that register functions."""

__all__ = ["FAMILIES"]
