"""From recordings to the profiles that the simulator reads.

May import all of calibration, and the simulator.
"""
