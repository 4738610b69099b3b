"""The modules that are measured, besides the catalogue's: host work in isolation, networks of
transformers and timm, and networks as users write them by hand.

May import the simulator's networks; imports no case.
"""
