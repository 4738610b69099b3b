"""Networks as users write them by hand. No fit uses them, but for three recurrent inference
steps in the fit of the host (`calibration.fit.host_rows`).

Imports only the simulator's `Output`.
"""
