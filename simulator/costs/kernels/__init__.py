"""Kernels that the ops of several packages launch: TensorIterator's, fills, copies, sums, scans
and CUB's radix sorts.

May import the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.kernels import elementwise, iterator, launches, radix

__all__ = ["elementwise", "iterator", "launches", "radix"]
