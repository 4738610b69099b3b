"""Networks as users write them by hand; no fit uses them.

Imports only the simulator's `Output`.
"""
