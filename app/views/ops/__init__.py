"""Launches as a table.

May import widgets, scenes, formulas and what these stand on.
"""
