"""Fusion by hand: ops joined into kernels and split again.

May import widgets, scenes, formulas and the packages below them.
"""
