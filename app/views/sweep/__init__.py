"""Figures along an axis.

May import widgets, scenes, formulas and what these stand on.
"""
