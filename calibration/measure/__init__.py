"""Measurements on a machine with a GPU: kernels, steps, hosts, collectives and energy.

May import cases and sweeps; the simulator only in functions that compare.
"""
