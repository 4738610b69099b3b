"""Pointwise ops, special functions, ops over lists of tensors and fused optimizers.

May import kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.pointwise import foreach, functions, optimizers, special_functions, tables

__all__ = ["foreach", "functions", "optimizers", "special_functions", "tables"]
