"""Networks of vectors: linear layers, embedding tables, chains of pointwise ops.

May import torch and what networks share; no other part of the simulator.
"""
