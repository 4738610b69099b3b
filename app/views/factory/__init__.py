"""The essay's factory, alive at the speeds of a prediction.

May import widgets, scenes, formulas and what these stand on.
"""
