"""Copies, slices, fills, views and collectives: ops that move or set bytes without arithmetic.

May import kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.movement import communication, copies, fills, slices, views

__all__ = ["communication", "copies", "fills", "slices", "views"]
