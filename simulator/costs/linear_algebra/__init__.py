"""Factorizations, solves and products of matrices as cuSOLVER and cuBLAS run them, and Fourier
transforms as cuFFT does.

May import movement, kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.linear_algebra import factorizations, matrices, transforms

__all__ = ["factorizations", "matrices", "transforms"]
