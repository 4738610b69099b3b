"""The time of a step, module by module. May import widgets, scenes, formulas and the packages below
them."""
