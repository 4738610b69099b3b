"""Every combination of several axes, as lines through them.

May import widgets, scenes, formulas and the packages below them.
"""
