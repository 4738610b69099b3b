"""Sweeps of what reads or writes by index: elements, rows, large tables and sorts.

May import the registry of sweeps, operands and shapes.
"""
