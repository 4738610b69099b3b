"""Where the time goes, module by module.

May import widgets, scenes, formulas and what these stand on.
"""
