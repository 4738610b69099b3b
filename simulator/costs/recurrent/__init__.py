"""Recurrent layers as cuDNN runs them, and their fused cells.

May import movement, kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.recurrent import cells, layers

__all__ = ["cells", "layers"]
