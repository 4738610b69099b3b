"""What the views are built of: canvas, paint, controls, strips, fonts and patterns, in Qt.

May import answers, formulas, outputs, quantities and the theme.
"""
