"""Rewrites of the traced graph before it is cut into kernels, as AOTAutograd and Inductor do.

May import the root of fusion and its lowering; no scheduling.
"""
