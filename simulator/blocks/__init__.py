"""Identical blocks of a network: derive the trace of a deep network from that of a few blocks.

May import records.
"""
