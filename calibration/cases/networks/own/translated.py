"""Networks that turn pictures into pictures, as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own
from simulator.networks.output import Output


class ReflectedBlock(nn.Module):
    """Two convolutions over reflected borders with instance norms."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width),
            nn.ReLU(inplace=True), nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3),
            nn.InstanceNorm2d(width),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


def generator(width: int, blocks: int) -> nn.Sequential:
    """CycleGAN's generator of residual blocks."""
    layers: list[nn.Module] = [
        nn.ReflectionPad2d(3), nn.Conv2d(3, width, 7), nn.InstanceNorm2d(width),
        nn.ReLU(inplace=True),
    ]  # fmt: skip
    for _ in range(2):
        layers += [nn.Conv2d(width, 2 * width, 3, 2, 1), nn.InstanceNorm2d(2 * width),
                   nn.ReLU(inplace=True)]  # fmt: skip
        width *= 2
    layers += [ReflectedBlock(width) for _ in range(blocks)]
    for _ in range(2):
        layers += [nn.ConvTranspose2d(width, width // 2, 3, 2, 1, output_padding=1),
                   nn.InstanceNorm2d(width // 2), nn.ReLU(inplace=True)]  # fmt: skip
        width //= 2
    return nn.Sequential(*layers, nn.ReflectionPad2d(3), nn.Conv2d(width, 3, 7), nn.Tanh())


def patch_critic(inward: int, width: int) -> nn.Sequential:
    """A discriminator that scores each patch of a picture."""
    layers: list[nn.Module] = [nn.Conv2d(inward, width, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True)]
    for stride in (2, 2, 1):
        layers += [nn.Conv2d(width, 2 * width, 4, stride, 1), nn.InstanceNorm2d(2 * width),
                   nn.LeakyReLU(0.2, inplace=True)]  # fmt: skip
        width *= 2
    return nn.Sequential(*layers, nn.Conv2d(width, 1, 4, 1, 1))


class Cycle(Own):
    """CycleGAN's step of the generators: both ways, the cycle and the identity."""

    def __init__(self, width: int = 32, blocks: int = 6, side: int = 128) -> None:
        super().__init__()
        self.side = side
        self.there, self.back = generator(width, blocks), generator(width, blocks)
        self.critics = nn.ModuleList(patch_critic(3, 64) for _ in range(2))
        self.critics.requires_grad_(False)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tuple(self.random(batch, 3, self.side, self.side) for _ in range(2))

    def forward(self, a: Tensor, b: Tensor) -> Any:
        if not self.training:
            return self.there(a)
        fake_b, fake_a = self.there(a), self.back(b)
        seen_b, seen_a = self.critics[0](fake_b), self.critics[1](fake_a)
        fooled = F.mse_loss(seen_b, torch.ones_like(seen_b))
        fooled = fooled + F.mse_loss(seen_a, torch.ones_like(seen_a))
        cycle = F.l1_loss(self.back(fake_b), a) + F.l1_loss(self.there(fake_a), b)
        same = F.l1_loss(self.there(b), b) + F.l1_loss(self.back(a), a)
        return Output(fake_b, fooled + 10.0 * cycle + 5.0 * same)


class PairedTranslator(Own):
    """Pix2Pix: a U-Net of strided convolutions and one step of both its losses."""

    def __init__(self, width: int = 64, depth: int = 8, side: int = 256) -> None:
        super().__init__()
        self.side = side
        widths = [min(width * 2**i, 8 * width) for i in range(depth)]
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for i, outward in enumerate(widths):
            layers: list[nn.Module] = [] if i == 0 else [nn.LeakyReLU(0.2)]
            layers.append(nn.Conv2d(widths[i - 1] if i else 3, outward, 4, 2, 1, bias=False))
            if 0 < i < depth - 1:
                layers.append(nn.BatchNorm2d(outward))
            self.down.append(nn.Sequential(*layers))
        for i in reversed(range(1, depth)):
            inward = widths[i] if i == depth - 1 else 2 * widths[i]
            layers = [nn.ReLU(), nn.ConvTranspose2d(inward, widths[i - 1], 4, 2, 1, bias=False),
                      nn.BatchNorm2d(widths[i - 1])]  # fmt: skip
            if depth - 4 <= i < depth - 1:
                layers.append(nn.Dropout(0.5))
            self.up.append(nn.Sequential(*layers))
        self.last = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(2 * width, 3, 4, 2, 1), nn.Tanh())
        self.critic = patch_critic(6, 64)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tuple(self.random(batch, 3, self.side, self.side) for _ in range(2))

    def forward(self, x: Tensor, goal: Tensor) -> Any:
        skips: list[Tensor] = []
        h = x
        for down in self.down:
            h = down(h)
            skips.append(h)
        h = skips.pop()
        for up in self.up:
            h = torch.cat([up(h), skips.pop()], dim=1)
        fake = self.last(h)
        if not self.training:
            return fake
        bce = F.binary_cross_entropy_with_logits
        real_score = self.critic(torch.cat([x, goal], 1))
        fake_score = self.critic(torch.cat([x, fake.detach()], 1))
        critic = 0.5 * (
            bce(real_score, torch.ones_like(real_score))
            + bce(fake_score, torch.zeros_like(fake_score))
        )
        judged = self.critic(torch.cat([x, fake], 1))
        return Output(
            fake, critic + bce(judged, torch.ones_like(judged)) + 100 * F.l1_loss(fake, goal)
        )


class DenseResidual(nn.Module):
    """ESRGAN's block: each of five convolutions reads all outputs before it."""

    def __init__(self, width: int, growth: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv2d(width + i * growth, growth if i < 4 else width, 3, 1, 1) for i in range(5)
        )

    def forward(self, x: Tensor) -> Tensor:
        outputs = [x]
        for conv in self.convs[:4]:
            outputs.append(F.leaky_relu(conv(torch.cat(outputs, 1)), 0.2))
        return x + 0.2 * self.convs[4](torch.cat(outputs, 1))


class Enlarger(Own):
    """ESRGAN's generator: residual blocks of residual dense blocks, then four times the size."""

    def __init__(self, width: int = 64, blocks: int = 6, growth: int = 32, side: int = 64) -> None:
        super().__init__()
        self.side = side
        self.first = nn.Conv2d(3, width, 3, 1, 1)
        self.body = nn.ModuleList(
            nn.Sequential(*(DenseResidual(width, growth) for _ in range(3))) for _ in range(blocks)
        )
        self.trunk, self.up1, self.up2, self.fine = (
            nn.Conv2d(width, width, 3, 1, 1) for _ in range(4)
        )
        self.last = nn.Conv2d(width, 3, 3, 1, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        side = 4 * self.side
        return self.random(batch, 3, self.side, self.side), self.random(batch, 3, side, side)

    def forward(self, x: Tensor, goal: Tensor) -> Any:
        first = self.first(x)
        h = first
        for block in self.body:
            h = h + 0.2 * block(h)
        h = first + self.trunk(h)
        for up in (self.up1, self.up2):
            h = F.leaky_relu(up(F.interpolate(h, scale_factor=2, mode="nearest")), 0.2)
        out = self.last(F.leaky_relu(self.fine(h), 0.2))
        return self.result(out, F.l1_loss(out, goal))


TRANSLATED: dict[str, type[Own]] = {
    "cycle": Cycle,
    "paired-translator": PairedTranslator,
    "enlarger": Enlarger,
}
"""By name."""
