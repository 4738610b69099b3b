"""Which regime rules over two axes, and what lies through the cursor.

May import widgets, charts, drawing, scenes, formulas and what these stand on.
"""
