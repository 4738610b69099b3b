"""Sweeps: time above shares of time, over an axis.

May import drawing, scenes and quantities.
"""
