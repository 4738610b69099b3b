"""The step as a factory, animated with the rates of a prediction. May import widgets, scenes,
formulas and the packages below them."""
