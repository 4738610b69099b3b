"""Networks as users write them by hand, and the cases measured with them, which are never fitted.

May import the other cases.
"""
