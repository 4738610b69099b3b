"""The networks, calls and steps to measure, each a function without arguments.

Imports no other package of calibration, since a measuring machine has only PyTorch and numpy.
"""
