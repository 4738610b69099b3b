"""Equal blocks of a network: the trace of a deep network, derived from a trace of a few blocks.

May import records.
"""
