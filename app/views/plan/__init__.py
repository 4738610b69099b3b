"""A plan of the GPU, the number of GPUs and the cost, edited and compared. May import widgets,
scenes, formulas and the packages below them."""
