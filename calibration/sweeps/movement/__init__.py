"""Sweeps of what moves or fills memory: copies, permutes, heads and fills.

May import the registry of sweeps, operands and shapes.
"""
