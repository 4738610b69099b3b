"""Networks for vectors: linear layers, embedding tables, chains of pointwise ops.

May import torch and the modules that networks share; no other part of the simulator.
"""
