"""The editor of a plan, and pictures that compare its candidates. May import widgets, scenes,
formulas and the packages below them."""
