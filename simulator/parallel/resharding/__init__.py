"""The trace of a rank with another number of replicas, from that of a rank traced before.

May import what `simulator.parallel` may.
"""
