"""Sweeps of ops on pictures: convolutions, pooling and batch norms.

May import the registry of sweeps, operands and shapes.
"""
