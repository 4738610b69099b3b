"""Figures along an axis.

May import widgets, charts, drawing, scenes, formulas and the packages below them.
"""
