"""Group nodes into kernels, and build the trace with these kernels as ops.

May import all of fusion except `simulator.fusion.host`.
"""
