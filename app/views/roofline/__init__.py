"""Launches under their ceilings.

May import widgets, scenes, formulas and what these stand on.
"""
