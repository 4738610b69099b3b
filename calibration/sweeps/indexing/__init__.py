"""Sweeps of ops that read or write by index: elements, rows, large tables and sorts.

May import the registry of sweeps, operands and shapes.
"""
