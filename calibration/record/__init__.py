"""Writes and reads recordings, and makes data files of them.

May import cases, measure, sweeps and fused, and the simulator where it reads.
"""
