"""Figures along an axis.

May import widgets, charts, drawing, scenes, formulas and what these stand on.
"""
