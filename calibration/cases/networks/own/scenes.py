"""Networks for scenes and volumes, as users write them by hand."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own


class RadianceField(Own):
    """NeRF: a network of positions and directions, and the sum along each ray."""

    def __init__(self, width: int = 256, samples: int = 64) -> None:
        super().__init__()
        self.samples = samples
        self.first = nn.ModuleList(
            nn.Linear(63 if i == 0 else width + 63 * (i == 4), width) for i in range(8)
        )
        self.density = nn.Linear(width, 1)
        self.feature = nn.Linear(width, width)
        self.color = nn.Sequential(
            nn.Linear(width + 27, width // 2), nn.ReLU(), nn.Linear(width // 2, 3), nn.Sigmoid()
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3), F.normalize(self.random(batch, 3), dim=-1)

    @staticmethod
    def encoded(x: Tensor, bands: int) -> Tensor:
        waves = [x]
        for i in range(bands):
            waves += [torch.sin(2.0**i * x), torch.cos(2.0**i * x)]
        return torch.cat(waves, -1)

    def forward(self, origins: Tensor, directions: Tensor) -> Any:
        t = torch.linspace(2.0, 6.0, self.samples, device=origins.device, dtype=origins.dtype)
        if self.training:
            t = t + torch.rand_like(t) * (4.0 / self.samples)
        points = origins[:, None] + directions[:, None] * t[:, None]
        x = self.encoded(points, 10)
        h = x
        for i, layer in enumerate(self.first):
            h = F.relu(layer(torch.cat([x, h], -1) if i == 4 else h))
        density = F.relu(self.density(h)).squeeze(-1)
        views = self.encoded(directions, 4)[:, None].expand(-1, self.samples, -1)
        color = self.color(torch.cat([self.feature(h), views], -1))
        gaps = torch.cat([t[1:] - t[:-1], t.new_full((1,), 1e3)])
        alpha = 1 - torch.exp(-density * gaps)
        light = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-6], 1), 1)
        weights = alpha * light[:, :-1]
        return self.result((weights[..., None] * color).sum(1))


class PointCloud(Own):
    """PointNet: the same layers for each point, a learned rotation, and a maximum."""

    def __init__(self, classes: int = 40) -> None:
        super().__init__()
        self.turn, self.turn_out = self._points(3, 64, 128, 1024), self._rows(1024, 512, 256, 9)
        self.first = self._points(3, 64, 64)
        self.second = self._points(64, 64, 128, 1024)
        self.head = self._rows(1024, 512, 256, classes)

    @staticmethod
    def _points(*sizes: int) -> nn.Sequential:
        layers = list[nn.Module]()
        for a, b in itertools.pairwise(sizes):
            layers += [nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU()]
        return nn.Sequential(*layers)

    @staticmethod
    def _rows(*sizes: int) -> nn.Sequential:
        layers = list[nn.Module]()
        for a, b in itertools.pairwise(sizes[:-1]):
            layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(0.3)]
        return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, seq),)

    def forward(self, points: Tensor) -> Any:
        turn = self.turn_out(self.turn(points).max(dim=2).values).view(-1, 3, 3)
        turn = turn + torch.eye(3, device=points.device, dtype=turn.dtype)
        points = torch.bmm(points.transpose(1, 2).to(turn.dtype), turn).transpose(1, 2)
        h = self.second(self.first(points)).max(dim=2).values
        return self.result(self.head(h))


class Volumes(Own):
    """A U-Net over volumes, with instance norm."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        sizes = [1, width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(self._pair(a, b) for a, b in itertools.pairwise(sizes))
        self.raised = nn.ModuleList(
            nn.ConvTranspose3d(b, a, 2, 2) for a, b in reversed([*itertools.pairwise(sizes[1:])])
        )
        self.up = nn.ModuleList(self._pair(2 * a, a) for a in reversed(sizes[1:-1]))
        self.head = nn.Conv3d(width, 4, 1)

    @staticmethod
    def _pair(a: int, b: int) -> nn.Sequential:
        layers = list[nn.Module]()
        for i in (a, b):
            layers += [nn.Conv3d(i, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True)]
            layers += [nn.LeakyReLU(0.01, inplace=True)]
        return nn.Sequential(*layers)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 1, 64, 64, 64),)

    def forward(self, x: Tensor) -> Any:
        skips = list[Tensor]()
        for i, block in enumerate(self.down):
            x = block(F.max_pool3d(x, 2) if i else x)
            skips.append(x)
        skips.pop()
        for up, block in zip(self.raised, self.up, strict=True):
            x = block(torch.cat([up(x), skips.pop()], 1))
        out = self.head(x)
        labels = torch.zeros(out.shape[:1] + out.shape[2:], dtype=torch.long, device=out.device)
        return self.result(out, F.cross_entropy(out.float(), labels))


class SuperResolution(Own):
    """EDSR: residual blocks without norms, and a pixel shuffle."""

    def __init__(self, width: int = 64, depth: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1), nn.ReLU(True),
                nn.Conv2d(width, width, 3, padding=1),
            )
            for _ in range(depth)
        )  # fmt: skip
        self.after = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.Sequential(
            nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2),
            nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2),
            nn.Conv2d(width, 3, 3, padding=1),
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, 48, 48),)

    def forward(self, x: Tensor) -> Any:
        first = h = self.stem(x)
        for block in self.blocks:
            h = h + 0.1 * block(h)
        out = self.up(first + self.after(h))
        return self.result(out, F.l1_loss(out, torch.zeros_like(out)))


def normed(inputs: int, outputs: int, taps: int, stride: int = 1) -> nn.Sequential:
    """A convolution without a bias, a batch norm and a SiLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, taps, stride, taps // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.SiLU(True),
    )


class Detector(Own):
    """A one-stage detector: cross-stage blocks, pooled pyramids and a head at three scales."""

    def __init__(self, width: int = 32, classes: int = 80) -> None:
        super().__init__()
        w = width
        self.stem = normed(3, w, 3, 2)
        self.stages = nn.ModuleList(
            nn.Sequential(normed(a, 2 * a, 3, 2), CrossStage(2 * a, 2 * a, n))
            for a, n in ((w, 1), (2 * w, 2), (4 * w, 2), (8 * w, 1))
        )
        self.squeeze = normed(16 * w, 8 * w, 1)
        self.spread = normed(32 * w, 16 * w, 1)
        self.up1, self.up2 = CrossStage(24 * w, 8 * w, 1), CrossStage(12 * w, 4 * w, 1)
        self.down1, self.down2 = normed(4 * w, 4 * w, 3, 2), normed(8 * w, 8 * w, 3, 2)
        self.out1, self.out2 = CrossStage(12 * w, 8 * w, 1), CrossStage(24 * w, 16 * w, 1)
        self.heads = nn.ModuleList(nn.Conv2d(c * w, 3 * (5 + classes), 1) for c in (4, 8, 16))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, 320, 320),)

    def forward(self, x: Tensor) -> Any:
        h, maps = self.stem(x), list[Tensor]()
        for stage in self.stages:
            h = stage(h)
            maps.append(h)
        h = self.squeeze(maps[3])
        pooled = [h]
        for _ in range(3):
            pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
        top = self.spread(torch.cat(pooled, 1))
        middle = self.up1(torch.cat([F.interpolate(top, scale_factor=2.0), maps[2]], 1))
        low = self.up2(torch.cat([F.interpolate(middle, scale_factor=2.0), maps[1]], 1))
        mid = self.out1(torch.cat([self.down1(low), middle], 1))
        high = self.out2(torch.cat([self.down2(mid), top], 1))
        parts = list[Tensor]()
        for scale, head in zip((low, mid, high), self.heads, strict=True):
            out = head(scale)
            n, _, rows, columns = out.shape
            parts.append(
                out.view(n, 3, -1, rows, columns).permute(0, 1, 3, 4, 2).reshape(n, -1, 85)
            )
        out = torch.cat(parts, 1)
        if not self.training:
            boxes, scores = out[..., :4].sigmoid() * 2, out[..., 4:].sigmoid()
            return torch.cat([boxes.square(), scores], -1).topk(100, dim=1).values
        target = torch.zeros_like(out[..., 4:])
        return self.result(out, F.binary_cross_entropy_with_logits(out[..., 4:], target))


class CrossStage(nn.Module):
    """Half of the channels go through residual blocks; the other half skips them."""

    def __init__(self, channels: int, out: int, depth: int) -> None:
        super().__init__()
        half = out // 2
        self.left, self.right = normed(channels, half, 1), normed(channels, half, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(normed(half, half, 1), normed(half, half, 3)) for _ in range(depth)
        )
        self.close = normed(out, out, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.left(x)
        for block in self.blocks:
            h = h + block(h)
        return self.close(torch.cat([h, self.right(x)], 1))


SCENES: dict[str, type[Own]] = {
    "nerf": RadianceField,
    "pointnet": PointCloud,
    "unet3d": Volumes,
    "edsr": SuperResolution,
    "detector": Detector,
}
"""The networks by name."""
