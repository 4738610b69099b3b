"""Layer norm, RMS norm, weight norm, batch norm and group norm.

May import movement, reductions, kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.normalization import batch_norms, group_norms, layer_norms

__all__ = ["batch_norms", "group_norms", "layer_norms"]
