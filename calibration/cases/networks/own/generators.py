"""Networks that generate images, as users write them by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own
from simulator.networks.output import Output


class HandVAE(Own):
    """A convolutional variational autoencoder."""

    def __init__(self, latent: int = 128) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1),
            nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(),
        )  # fmt: skip
        self.mean, self.log_variance = (nn.Linear(128 * 64, latent) for _ in range(2))
        self.widen = nn.Linear(latent, 128 * 64)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1),
            nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Sigmoid(),
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, 64, 64).sigmoid(),)

    def forward(self, x: Tensor) -> Any:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        out = self.decoder(self.widen(z).view(-1, 128, 8, 8))
        divergence = -0.5 * torch.mean(1 + log_variance - mean.pow(2) - log_variance.exp())
        return self.result(out, F.mse_loss(out, x) + 1e-3 * divergence)


class TimedBlock(nn.Module):
    """A residual block of a diffusion network."""

    def __init__(self, channels: int, out: int, time: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, out, 3, padding=1)
        self.second = nn.Conv2d(out, out, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(8, channels), nn.GroupNorm(8, out)
        self.time = nn.Linear(time, out)
        self.skip = nn.Conv2d(channels, out, 1) if channels != out else nn.Identity()

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        h = self.first(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.second(F.silu(self.norm2(h)))


class DDPM(Own):
    """A training step of a small diffusion model, which predicts the noise added to an image."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.width = width
        betas = torch.linspace(1e-4, 0.02, 1000)
        self.register_buffer("alphas", torch.cumprod(1 - betas, 0))
        time = 4 * width
        self.embed = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(
            TimedBlock(width * a, width * b, time) for a, b in ((1, 1), (1, 2), (2, 4))
        )
        self.middle = TimedBlock(width * 4, width * 4, time)
        self.up = nn.ModuleList(
            TimedBlock(width * a, width * b, time) for a, b in ((8, 2), (4, 1), (2, 1))
        )
        self.head = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 3, 3, 1, 1))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, 32, 32), torch.randint(0, 1000, (batch,))

    def forward(self, x: Tensor, t: Tensor) -> Any:
        noise = torch.randn_like(x)
        alpha = self.alphas[t].view(-1, 1, 1, 1).to(x.dtype)  # pyright: ignore
        noisy = alpha.sqrt() * x + (1 - alpha).sqrt() * noise
        half = self.width // 2
        rate = torch.exp(-9.21 / half * torch.arange(half, device=x.device))
        angles = t[:, None] * rate[None, :]
        embedded = self.embed(torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype))
        h, skips = self.stem(noisy), list[Tensor]()
        for block in self.down:
            h = block(h, embedded)
            skips.append(h)
            h = F.avg_pool2d(h, 2)
        h = self.middle(h, embedded)
        for block in self.up:
            h = F.interpolate(h, scale_factor=2.0, mode="nearest")
            h = block(torch.cat([h, skips.pop()], 1), embedded)
        out = self.head(h)
        return self.result(out, F.mse_loss(out, noise))


class Generator(Own):
    """The generator's training step of a DCGAN: generate images and run the discriminator on
    them."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        sizes, layers = [100, 8 * width, 4 * width, 2 * width, width], list[nn.Module]()
        for i, (a, b) in enumerate(pairwise(sizes)):
            up = nn.ConvTranspose2d(a, b, 4, 2 if i else 1, 1 if i else 0, bias=False)
            layers += [up, nn.BatchNorm2d(b), nn.ReLU(True)]
        self.make = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())
        judges: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True)]
        for i in (1, 2, 4):
            conv = nn.Conv2d(i * width, 2 * i * width, 4, 2, 1, bias=False)
            judges += [conv, nn.BatchNorm2d(2 * i * width), nn.LeakyReLU(0.2, True)]
        self.judge = nn.Sequential(*judges, nn.Conv2d(8 * width, 1, 4))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 100, 1, 1),)

    def forward(self, z: Tensor) -> Any:
        picture = self.make(z)
        if not self.training:
            return picture
        scores = self.judge(picture).flatten()
        loss = F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores))
        return Output(picture, loss)


GENERATORS: dict[str, type[Own]] = {"vae": HandVAE, "ddpm": DDPM, "gan": Generator}
"""The networks by name."""
