"""Networks as users write them by hand; none of them is fitted.

Imports the simulator's `Output` alone.
"""
