"""The timeline of the host and the GPU. May import widgets, charts, drawing, scenes, formulas and
the packages below them."""
