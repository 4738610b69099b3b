"""Sweeps of what works on pictures: convolutions, pooling and batch norms.

May import the registry of sweeps, operands and shapes.
"""
