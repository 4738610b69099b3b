"""Sweeps of ops on images: convolutions, pooling and batch norms.

May import the registry of sweeps, operands and shapes.
"""
