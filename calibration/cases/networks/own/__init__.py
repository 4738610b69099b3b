"""Networks as users write them by hand; none of them is fitted.

Imports only the simulator's `Output`.
"""
