"""Timestep embedding of diffusion networks."""

import math

import torch
from torch import Tensor


def timestep_embedding(timesteps: Tensor, width: int) -> Tensor:
    """Sinusoids of the timestep: [batch] -> float32 [batch, width].

    Source: Ho et al. 2020, "Denoising Diffusion Probabilistic Models", after Vaswani et al. 2017.
    """
    half = width // 2
    steps = torch.arange(half, dtype=torch.float32, device=timesteps.device)
    angles = timesteps[:, None].float() * torch.exp(-math.log(10000.0) / half * steps)
    return torch.cat((angles.cos(), angles.sin()), dim=-1)
