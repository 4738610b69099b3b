"""The networks and steps that are measured, each a function of no arguments.

Imports nothing else of calibration: a machine that measures has PyTorch and numpy alone.
"""
