"""Runs on a machine with a GPU and times: kernels, steps, hosts, collectives and energy.

May import cases and sweeps; the simulator only in functions that compare.
"""
