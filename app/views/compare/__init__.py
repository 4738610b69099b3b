"""From one scenario to another, as pictures.

May import widgets, scenes, formulas and what these stand on.
"""
