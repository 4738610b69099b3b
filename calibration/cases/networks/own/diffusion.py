"""Networks that generate pictures by diffusion, by style and by an invertible flow, as users write
them by hand."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class DiTBlock(nn.Module):
    """A transformer block whose norms are modulated by the time step and the class."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(c).chunk(6, dim=1)
        batch, length, width = x.shape
        qkv = self.qkv(modulate(self.norm1(x), shift1, scale1))
        q, k, v = qkv.reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + gate1.unsqueeze(1) * self.proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + gate2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), shift2, scale2))


class DiT(Own):
    """A diffusion transformer: latent pictures of 4 channels in patches of 2 × 2."""

    def __init__(self, width: int = 384, layers: int = 8, heads: int = 6, side: int = 32) -> None:
        super().__init__()
        self.width, self.side = width, side
        self.patches = nn.Conv2d(4, width, 2, 2)
        self.places = nn.Parameter(torch.zeros(1, (side // 2) ** 2, width))
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.labels = nn.Embedding(1001, width)
        self.blocks = nn.ModuleList(DiTBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.head = nn.Linear(width, 2 * 2 * 4)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        noise = self.random(batch, 4, self.side, self.side)
        return self.random(batch, 4, self.side, self.side), noise, torch.randint(0, 1000, (batch,))

    def forward(self, x: Tensor, noise: Tensor, labels: Tensor) -> Any:
        t = torch.randint(0, 1000, labels.shape, device=x.device).float()
        rates = torch.exp(-math.log(10000) * torch.arange(0, 128, device=x.device).float() / 128)
        angles = t[:, None] * rates[None]
        c = self.time(torch.cat([angles.cos(), angles.sin()], dim=-1).to(x.dtype))
        c = c + self.labels(labels)
        share = torch.cos(t / 1000 * math.pi / 2).view(-1, 1, 1, 1).to(x.dtype)
        mixed = share * x + (1 - share**2).sqrt() * noise
        h = self.patches(mixed).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            h = block(h, c)
        h = self.head(self.norm(h))
        side = self.side // 2
        h = h.reshape(-1, side, side, 2, 2, 4)
        out = torch.einsum("nhwpqc->nchpwq", h).reshape(-1, 4, self.side, self.side)
        return self.result(out, F.mse_loss(out, noise))


class Modulated(Own):
    """A generator whose convolutions take a style for each picture: one grouped convolution."""

    def __init__(self, width: int = 256, style: int = 256) -> None:
        super().__init__()
        self.mapping = nn.Sequential(
            *(layer for _ in range(4) for layer in (nn.Linear(style, style), nn.LeakyReLU(0.2)))
        )
        self.style = style
        self.start = nn.Parameter(torch.randn(1, width, 8, 8))
        widths = [width, width, width // 2, width // 4]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.randn(b, a, 3, 3)) for a, b in pairwise(widths)
        )
        self.styles = nn.ModuleList(nn.Linear(style, a) for a in widths[:-1])
        self.image = nn.Conv2d(widths[-1], 3, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, self.style),)

    def forward(self, z: Tensor) -> Any:
        w = self.mapping(F.normalize(z, dim=1))
        x = self.start.repeat(z.shape[0], 1, 1, 1)
        for weight, style in zip(self.weights, self.styles, strict=True):
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            batch, inward, height, breadth = x.shape
            kernels = weight[None] * (style(w) + 1)[:, None, :, None, None]
            norm = torch.rsqrt(kernels.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
            kernels = (kernels * norm).view(-1, inward, 3, 3)
            x = F.conv2d(x.view(1, -1, height, breadth), kernels, padding=1, groups=batch)
            x = x.view(batch, -1, height, breadth)
            x = F.leaky_relu(x + torch.randn_like(x[:, :1]) * 0.1, 0.2)
        return self.result(torch.tanh(self.image(x)))


class RealNVP(Own):
    """An invertible flow of affine couplings; the loss is the negative log-likelihood."""

    def __init__(self, width: int = 64, hidden: int = 512, couplings: int = 8) -> None:
        super().__init__()
        self.width = width
        self.networks = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width // 2, hidden), nn.LeakyReLU(), nn.Linear(hidden, hidden),
                nn.LeakyReLU(), nn.Linear(hidden, width),
            )
            for _ in range(couplings)
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, self.width),)

    def forward(self, x: Tensor) -> Any:
        log_det = x.new_zeros(x.shape[0])
        for network in self.networks:
            a, b = x.chunk(2, dim=1)
            s, t = network(a).chunk(2, dim=1)
            s = torch.tanh(s)
            x = torch.cat([b * s.exp() + t, a], dim=1)
            log_det = log_det + s.sum(1)
        prior = torch.distributions.Normal(0.0, 1.0).log_prob(x).sum(1)
        return self.result(x, -(prior + log_det).mean())


DIFFUSION: dict[str, type[Own]] = {"dit": DiT, "modulated": Modulated, "real-nvp": RealNVP}
"""By name."""
