"""Networks as users write them by hand, and the cases measured of them: never fitted.

May import the other cases.
"""
