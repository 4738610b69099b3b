"""The host over the GPU, in time.

May import widgets, charts, drawing, scenes, formulas and what these stand on.
"""
