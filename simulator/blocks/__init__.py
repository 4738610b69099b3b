"""Equal blocks of a network: the trace of a deep network from that of a few of its blocks.

May import records.
"""
