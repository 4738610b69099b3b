"""Launches as a table.

May import widgets, scenes, formulas and the packages below them.
"""
