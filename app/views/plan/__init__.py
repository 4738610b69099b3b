"""Which GPU, how many and at what cost: a plan, edited and compared.

May import widgets, scenes, formulas and what these stand on.
"""
