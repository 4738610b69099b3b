"""Networks of images and their latents: convolutions, vision transformers, diffusion.

May import torch and what networks share; no other part of the simulator.
"""
