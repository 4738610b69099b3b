"""The dominant regime over two axes, and the sweeps through the cursor. May import widgets, charts,
drawing, scenes, formulas and the packages below them."""
