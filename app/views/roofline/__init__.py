"""Launches under their ceilings.

May import widgets, charts, drawing, scenes, formulas and what these stand on.
"""
