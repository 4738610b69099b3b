"""Reductions over dimensions and segments, softmaxes, losses and distances.

May import movement, pointwise, kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.reductions import (
    dimensions,
    distances,
    losses,
    nll_losses,
    segments,
    softmaxes,
)

__all__ = ["dimensions", "distances", "losses", "nll_losses", "segments", "softmaxes"]
