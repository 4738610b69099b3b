"""Sweeps of any size: a design of axes, its rows in a file, and the processes that predict them.

May import what analysis stands on, and the axes of `simulator.analysis.sweep`.
"""
