"""Qt building blocks of the views: canvas, painter, controls, strips, fonts and patterns.

May import charts, drawing, answers, formulas, outputs, quantities and the theme.
"""
