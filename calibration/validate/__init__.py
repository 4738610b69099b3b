"""Compares predictions with recordings: networks, single ops, traces and fusion.

May import cases, measure and record, and the simulator.
"""
