"""Formulas of the shown figures: a rule, the current values, and the lesson that teaches it.

May import scenes, lessons and answers; no Qt.
"""
