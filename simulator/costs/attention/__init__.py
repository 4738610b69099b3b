"""Fused attention and the kernel that PyTorch selects for it.

May import kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.attention import fast_path, flex, fused, selection

__all__ = ["fast_path", "flex", "fused", "selection"]
