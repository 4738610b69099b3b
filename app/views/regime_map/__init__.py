"""Which regime rules over two axes, and what lies through the cursor.

May import widgets, scenes, formulas and what these stand on.
"""
