"""Example networks: plain PyTorch modules, one family a file, listed in the catalogue.

May import torch, formats and errors; no other part of the simulator.
"""
