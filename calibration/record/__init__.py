"""Writes and reads recordings, and creates data files from them.

May import cases, measure, sweeps and fused, and the simulator to read.
"""
