"""The verdict bar of the window: the regime, the time with its interval, and the next regime shift.

May import widgets, answers, formulas and the docks; not the rest of the window.
"""
