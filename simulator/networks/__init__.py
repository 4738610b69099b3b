"""The catalogue of built-in networks, plain PyTorch modules, and the loading of a user's networks.

May import torch, formats and errors; no other part of the simulator.
"""
