"""Networks for physics, graphs and recommendations, as users write them by hand."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own


class FourierOperator(Own):
    """A Fourier neural operator over a plane; its products are complex."""

    def __init__(self, width: int = 32, waves: int = 12, depth: int = 4) -> None:
        super().__init__()
        self.waves = waves
        self.open = nn.Linear(3, width)
        shape = depth, width, width, waves, waves, 2
        self.low = nn.Parameter(torch.randn(*shape) / width)
        self.high = nn.Parameter(torch.randn(*shape) / width)
        self.beside = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(depth))
        self.close = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, 1))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, seq, seq, 3),)

    def forward(self, x: Tensor) -> Any:
        h = self.open(x).permute(0, 3, 1, 2)
        n = self.waves
        low, high = torch.view_as_complex(self.low), torch.view_as_complex(self.high)
        for i, beside in enumerate(self.beside):
            spectrum = torch.fft.rfft2(h)
            out = torch.zeros_like(spectrum)
            out[:, :, :n, :n] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :n, :n], low[i])
            out[:, :, -n:, :n] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -n:, :n], high[i])
            h = F.gelu(torch.fft.irfft2(out, s=h.shape[-2:]) + beside(h))
        return self.result(self.close(h.permute(0, 2, 3, 1)))


class NeuralODE(Own):
    """A small field, integrated by fourth-order Runge-Kutta steps."""

    def __init__(self, width: int = 64, steps: int = 20) -> None:
        super().__init__()
        self.steps = steps
        self.field = nn.Sequential(
            nn.Linear(33, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, 32),
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 32),)

    def slope(self, t: float, x: Tensor) -> Tensor:
        return self.field(torch.cat([x, torch.full_like(x[:, :1], t)], 1))

    def forward(self, x: Tensor) -> Any:
        dt = 1 / self.steps
        for i in range(self.steps):
            t = i * dt
            k1 = self.slope(t, x)
            k2 = self.slope(t + dt / 2, x + dt / 2 * k1)
            k3 = self.slope(t + dt / 2, x + dt / 2 * k2)
            k4 = self.slope(t + dt, x + dt * k3)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return self.result(x)


class GraphAttention(Own):
    """Graph attention over a dense adjacency matrix."""

    def __init__(self, inputs: int = 128, width: int = 32, heads: int = 8) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        sizes = (inputs, heads * width, heads * width)
        self.values = nn.ModuleList(nn.Linear(a, heads * width, bias=False) for a in sizes)
        self.source = nn.Parameter(torch.randn(3, heads, width))
        self.target = nn.Parameter(torch.randn(3, heads, width))
        self.head = nn.Linear(heads * width, 16)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        edges = torch.rand(batch, seq, seq) < 0.05
        return self.random(batch, seq, 128), edges

    def forward(self, x: Tensor, edges: Tensor) -> Any:
        edges = edges | torch.eye(edges.shape[-1], dtype=torch.bool, device=x.device)
        for i, values in enumerate(self.values):
            h = values(x).view(*x.shape[:2], self.heads, self.width)
            source, target = (h * self.source[i]).sum(-1), (h * self.target[i]).sum(-1)
            scores = F.leaky_relu(source[:, :, None] + target[:, None], 0.2)
            scores = scores.masked_fill(~edges[..., None], float("-inf")).softmax(dim=2)
            x = F.elu(torch.einsum("bijh,bjhd->bihd", scores, h).flatten(2))
        return self.result(self.head(x))


class Splines(Own):
    """A Kolmogorov-Arnold network whose functions are sums of Gaussian bumps."""

    def __init__(self, width: int = 256, bumps: int = 8) -> None:
        super().__init__()
        sizes = (64, width, width, 1)
        self.register_buffer("centers", torch.linspace(-2, 2, bumps))
        pairs = [*itertools.pairwise(sizes)]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.randn(b, a, bumps) / (a * bumps) ** 0.5) for a, b in pairs
        )
        self.base = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
        self.norms = nn.ModuleList(nn.LayerNorm(a) for a, _ in pairs)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 64),)

    def forward(self, x: Tensor) -> Any:
        for weights, base, norm in zip(self.weights, self.base, self.norms, strict=True):
            bumps = torch.exp(-(((norm(x)[..., None] - self.centers) * 2) ** 2))
            x = torch.einsum("bik,oik->bo", bumps, weights) + base(F.silu(x))
        return self.result(x)


class Recommender(Own):
    """DLRM: bags of embeddings, their pairwise products, and two stacks of layers."""

    def __init__(self, tables: int = 16, rows: int = 200_000, width: int = 64) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.rows = rows
        self.bottom = self._stack(13, 512, 256, width)
        pairs = (tables + 1) * tables // 2
        self.top = self._stack(width + pairs, 512, 256, 1)
        lower = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("lower", lower)

    @staticmethod
    def _stack(*sizes: int) -> nn.Sequential:
        layers = list[nn.Module]()
        for a, b in itertools.pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 13), torch.randint(0, self.rows, (len(self.bags), batch, 10))

    def forward(self, dense: Tensor, sparse: Tensor) -> Any:
        first = self.bottom(dense)
        rows = [first] + [bag(sparse[i]) for i, bag in enumerate(self.bags)]
        stacked = torch.stack([r.to(first.dtype) for r in rows], 1)
        lower: Any = self.lower
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        flat = products[:, lower[0], lower[1]]
        out = self.top(torch.cat([first, flat], 1))
        loss = F.binary_cross_entropy_with_logits(out.float(), torch.zeros_like(out).float())
        return self.result(out.sigmoid(), loss)


SCIENCE: dict[str, type[Own]] = {
    "fno": FourierOperator,
    "neural-ode": NeuralODE,
    "gat": GraphAttention,
    "kan": Splines,
    "dlrm": Recommender,
}
"""The networks by name."""
