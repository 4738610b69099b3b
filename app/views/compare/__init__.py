"""From one scenario to another, as pictures.

May import widgets, charts, drawing, scenes, formulas and the packages below them.
"""
