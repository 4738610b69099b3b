"""Draw the points of sweeps that `calibration.measure.network_layers` measures.

May import `calibration.sweeps`; no GPU is needed.
"""
