"""Networks for images and their latents: convolutions, vision transformers, diffusion.

May import torch and the modules that networks share; no other part of the simulator.
"""
