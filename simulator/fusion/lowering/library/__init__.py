"""Library calls of a compiled step: products and convolutions, with the biases, layouts, strides
and padding that Inductor chooses for them, and the loops that it adds around them.

May import reducing of `simulator.fusion.lowering`, and what that package may import.
"""
