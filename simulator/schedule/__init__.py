"""Kernels in time and memory: the timeline of host and GPU, the steady state, L2 and allocations.

May import lowering and hardware; knows no network and no scenario.
"""
