"""Sweeps of functions that networks call now and then, each at the sizes that networks have.

May import the registry of sweeps, operands and shapes.
"""
