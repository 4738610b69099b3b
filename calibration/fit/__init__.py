"""Fits the profiles that the simulator reads to recordings.

May import all of calibration, and the simulator.
"""
