"""The host over the GPU, in time.

May import widgets, scenes, formulas and what these stand on.
"""
