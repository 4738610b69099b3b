"""Networks for molecules, physics and sets as users write them by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own


class ShiftedSoftplus(nn.Module):
    """A softplus that is 0 at 0."""

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x) - 0.6931


class Molecules(Own):
    """Energies of molecules of 20 atoms: filters of distances weigh the neighbours' features."""

    def __init__(self, width: int = 128, layers: int = 4, gaussians: int = 50) -> None:
        super().__init__()
        self.atoms = nn.Embedding(100, width, padding_idx=0)
        self.register_buffer("centres", torch.linspace(0, 5, gaussians))
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(gaussians, width), ShiftedSoftplus(), nn.Linear(width, width))
            for _ in range(layers)
        )
        self.inward = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.outward = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), ShiftedSoftplus(), nn.Linear(width, width))
            for _ in range(layers)
        )
        self.head = nn.Sequential(nn.Linear(width, 64), ShiftedSoftplus(), nn.Linear(64, 1))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        start = torch.arange(batch).repeat_interleave(20 * 12) * 20
        ends = torch.randint(0, 20, (2, len(start))) + start
        kinds, molecule = torch.randint(1, 100, (20 * batch,)), torch.arange(20 * batch) // 20
        return kinds, self.random(20 * batch, 3), ends, molecule, self.random(batch)

    def forward(
        self, kinds: Tensor, places: Tensor, ends: Tensor, molecule: Tensor, energy: Tensor
    ) -> Any:
        centres: Any = self.centres
        source, target = ends[0], ends[1]
        apart = (places[source] - places[target]).norm(dim=-1)
        wide = torch.exp(-10.0 * (apart[:, None] - centres[None, :]) ** 2)
        cutoff = 0.5 * (torch.cos(apart * torch.pi / 5.0) + 1.0) * (apart < 5.0)
        x = self.atoms(kinds)
        for filters, inward, outward in zip(self.filters, self.inward, self.outward, strict=True):
            weights = filters(wide) * cutoff[:, None]
            message = inward(x)[source] * weights
            summed = torch.zeros_like(x).index_add(0, target, message.to(x.dtype))
            x = x + outward(summed)
        atoms = self.head(x).squeeze(-1)
        total = torch.zeros_like(energy).scatter_add(0, molecule, atoms.to(energy.dtype))
        return self.result(total, F.l1_loss(total, energy))


class Waves(Own):
    """A network of sines for a signed distance; a Fourier encoding of the places first."""

    def __init__(self, width: int = 256, layers: int = 5) -> None:
        super().__init__()
        self.register_buffer("rates", torch.randn(3, 64) * 10)
        sizes = [128] + [width] * layers
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.head = nn.Linear(width, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3), self.random(batch, 1)

    def forward(self, places: Tensor, goal: Tensor) -> Any:
        rates: Any = self.rates
        angles = 2 * torch.pi * places @ rates
        x = torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)
        for layer in self.layers:
            x = torch.sin(30.0 * layer(x))
        out = self.head(x)
        loss = (out.clamp(-0.1, 0.1) - goal.clamp(-0.1, 0.1)).abs().mean()
        return self.result(out, loss)


class Induced(Own):
    """A transformer for sets: attention by way of learned points, then pooling by attention."""

    def __init__(self, width: int = 256, points: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Linear(3, width)
        self.points = nn.ParameterList(nn.Parameter(torch.randn(1, points, width)) for _ in "ab")
        self.inner = nn.ModuleList(
            nn.MultiheadAttention(width, heads, batch_first=True) for _ in range(2)
        )
        self.outer = nn.ModuleList(
            nn.MultiheadAttention(width, heads, batch_first=True) for _ in range(2)
        )
        self.feed = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.seed = nn.Parameter(torch.randn(1, 1, width))
        self.pool = nn.MultiheadAttention(width, heads, batch_first=True)
        self.head = nn.Linear(width, 40)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, seq, 3), torch.randint(0, 40, (batch,))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        x = self.embed(x)
        for i in range(2):
            points = self.points[i].expand(x.shape[0], -1, -1)
            h, _ = self.inner[i](points, x, x)
            y, _ = self.outer[i](x, h, h)
            x = self.norms[2 * i](x + y)
            x = self.norms[2 * i + 1](x + self.feed[i](x))
        pooled, _ = self.pool(self.seed.expand(x.shape[0], -1, -1), x, x, need_weights=False)
        scores = self.head(pooled.squeeze(1))
        return self.result(scores, F.cross_entropy(scores, labels))


MATTER: dict[str, type[Own]] = {"molecules": Molecules, "waves": Waves, "induced": Induced}
"""By name."""
