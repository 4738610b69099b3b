"""Sweeps of ops that move or fill memory: copies, permutes, heads and fills.

May import the registry of sweeps, operands and shapes.
"""
