"""Which nodes become one kernel, and the trace that has these kernels as ops.

May import all of fusion but its host.
"""
