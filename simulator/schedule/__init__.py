"""Schedules of kernels: the timeline of host and GPU, the steady state, L2 and allocations.

May import lowering and hardware; does not depend on networks or scenarios.
"""
