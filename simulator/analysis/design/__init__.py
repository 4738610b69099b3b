"""Sweeps of any size: a design of axes, its rows in a file, and the processes that predict them.

May import the dependencies of analysis, and the axes of `simulator.analysis.sweep`.
"""
