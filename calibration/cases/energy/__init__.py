"""The kernels and steps whose energy is measured.

May import `case`, the networks and the steps.
"""
