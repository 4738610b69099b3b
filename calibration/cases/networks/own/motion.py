"""Networks for videos as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own


def factored(inward: int, outward: int, stride: int = 1) -> nn.Sequential:
    """A convolution over space, then one over time."""
    return nn.Sequential(
        nn.Conv3d(inward, outward, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False),
        nn.BatchNorm3d(outward),
        nn.ReLU(inplace=True),
        nn.Conv3d(outward, outward, (3, 1, 1), (stride, 1, 1), (1, 0, 0), bias=False),
        nn.BatchNorm3d(outward),
    )


class FactoredVideo(Own):
    """A residual network for videos, its 3-D convolutions split into space and time."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv3d(3, 45, (1, 7, 7), (1, 2, 2), (0, 3, 3), bias=False), nn.BatchNorm3d(45),
            nn.ReLU(inplace=True), nn.Conv3d(45, 64, (3, 1, 1), 1, (1, 0, 0), bias=False),
            nn.BatchNorm3d(64), nn.ReLU(inplace=True),
        )  # fmt: skip
        sizes = [(64, 64, 1), (64, 128, 2), (128, 256, 2)]
        self.stages = nn.ModuleList(
            nn.ModuleList([factored(a, b, s), nn.Conv3d(a, b, 1, s, bias=False)])
            for a, b, s in sizes
        )
        self.head = nn.Linear(256, 400)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, 16, 112, 112), torch.randint(0, 400, (batch,))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        x = self.stem(x)
        for block, skip in self.stages:  # pyright: ignore
            x = F.relu(block(x) + skip(x))
        scores = self.head(x.mean(dim=(2, 3, 4)))
        return self.result(scores, F.cross_entropy(scores, labels))


class ConvLSTM(Own):
    """Predicts the next picture of a sequence: an LSTM whose products are convolutions."""

    def __init__(self, width: int = 64, side: int = 64) -> None:
        super().__init__()
        self.width, self.side = width, side
        self.gates = nn.Conv2d(1 + width, 4 * width, 5, padding=2)
        self.head = nn.Conv2d(width, 1, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, seq, 1, self.side, self.side),)

    def forward(self, frames: Tensor) -> Any:
        h = frames.new_zeros(frames.shape[0], self.width, self.side, self.side)
        c = torch.zeros_like(h)
        out: list[Tensor] = []
        for step in range(frames.shape[1]):
            gates = self.gates(torch.cat([frames[:, step], h.to(frames.dtype)], dim=1))
            i, f, o, g = torch.split(gates, self.width, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out.append(torch.sigmoid(self.head(h)))
        stacked = torch.stack(out, dim=1)
        return self.result(stacked, F.mse_loss(stacked[:, :-1].float(), frames[:, 1:].float()))


class Flow(Own):
    """Optical flow: the correlation of all pairs of pixels, looked up around the present estimate
    in each of six steps of a convolutional GRU."""

    def __init__(self, width: int = 128, steps: int = 6, radius: int = 3) -> None:
        super().__init__()
        self.steps, self.radius, self.width = steps, radius, width
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3), nn.InstanceNorm2d(64), nn.ReLU(),
            nn.Conv2d(64, 96, 3, 2, 1), nn.InstanceNorm2d(96), nn.ReLU(),
            nn.Conv2d(96, width, 3, 2, 1),
        )  # fmt: skip
        looked = width + (2 * radius + 1) ** 2 + 2
        self.zr = nn.Conv2d(width + looked, 2 * width, 3, padding=1)
        self.q = nn.Conv2d(width + looked, width, 3, padding=1)
        self.delta = nn.Sequential(
            nn.Conv2d(width, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, 2, 3, padding=1)
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, 192, 256), self.random(batch, 3, 192, 256)

    def forward(self, first: Tensor, second: Tensor) -> Any:
        a, b = self.features(torch.cat([first, second])).chunk(2)
        batch, width, high, wide = a.shape
        pairs = torch.matmul(a.flatten(2).transpose(1, 2), b.flatten(2)) / width**0.5
        pairs = pairs.reshape(batch * high * wide, 1, high, wide)
        rows = torch.arange(high, device=a.device, dtype=a.dtype)
        cols = torch.arange(wide, device=a.device, dtype=a.dtype)
        y, x = torch.meshgrid(rows, cols, indexing="ij")
        start = torch.stack([x, y]).expand(batch, 2, high, wide)
        near = torch.arange(-self.radius, self.radius + 1, device=a.device, dtype=a.dtype)
        dy, dx = torch.meshgrid(near, near, indexing="ij")
        window = torch.stack([dx, dy], dim=-1)
        coords, h = start, torch.tanh(a)
        for _ in range(self.steps):
            coords = coords.detach()
            centre = coords.permute(0, 2, 3, 1).reshape(-1, 1, 1, 2)
            grid = centre + window
            scale = torch.tensor([wide - 1, high - 1], device=a.device, dtype=a.dtype)
            grid = 2 * grid / scale - 1
            near_pairs = F.grid_sample(pairs, grid.to(pairs.dtype), align_corners=True)
            near_pairs = near_pairs.reshape(batch, high, wide, -1).permute(0, 3, 1, 2)
            x = torch.cat([a, near_pairs, coords - start], dim=1)
            z, r = torch.sigmoid(self.zr(torch.cat([h, x], dim=1))).chunk(2, dim=1)
            q = torch.tanh(self.q(torch.cat([r * h, x], dim=1)))
            h = (1 - z) * h + z * q
            coords = coords + self.delta(h)
        flow = F.interpolate(coords - start, scale_factor=8, mode="bilinear", align_corners=True)
        return self.result(8 * flow, flow.abs().mean())


MOTION: dict[str, type[Own]] = {"video": FactoredVideo, "conv-lstm": ConvLSTM, "flow": Flow}
"""By name."""
