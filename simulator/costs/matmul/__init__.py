"""Products of matrices and vectors, grouped products and the linear cross entropy.

May import kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.matmul import (
    grouped,
    linear_cross_entropy,
    matvec,
    products,
    tensor_float,
)

__all__ = ["grouped", "linear_cross_entropy", "matvec", "products", "tensor_float"]
