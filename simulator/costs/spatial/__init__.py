"""Convolutions, pooling, resampling and padding of images, volumes and sequences.

May import reductions, kernels, the registry and the curve rules of `simulator.costs`.
"""

from simulator.costs.spatial import convolution, padding, pooling, resampling, sampling, windows

__all__ = ["convolution", "padding", "pooling", "resampling", "sampling", "windows"]
