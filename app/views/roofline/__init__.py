"""Launches under their ceilings.

May import widgets, charts, drawing, scenes, formulas and the packages below them.
"""
