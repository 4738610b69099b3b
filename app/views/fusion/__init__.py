"""Kernels by hand: ops pulled together and apart.

May import widgets, scenes, formulas and what these stand on.
"""
