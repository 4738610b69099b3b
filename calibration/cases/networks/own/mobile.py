"""Networks for pictures of later designs as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own


class Inverted(nn.Module):
    """A block that widens, convolves each channel alone, weighs the channels and narrows."""

    def __init__(self, inward: int, outward: int, stride: int, wider: int, taps: int) -> None:
        super().__init__()
        width = inward * wider
        self.skip = stride == 1 and inward == outward
        self.widen = nn.Sequential(
            nn.Conv2d(inward, width, 1, bias=False), nn.BatchNorm2d(width), nn.SiLU(inplace=True)
        )
        self.depthwise = nn.Sequential(
            nn.Conv2d(width, width, taps, stride, taps // 2, groups=width, bias=False),
            nn.BatchNorm2d(width), nn.SiLU(inplace=True),
        )  # fmt: skip
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, inward // 4, 1), nn.SiLU(inplace=True),
            nn.Conv2d(inward // 4, width, 1), nn.Sigmoid(),
        )  # fmt: skip
        self.narrow = nn.Sequential(
            nn.Conv2d(width, outward, 1, bias=False), nn.BatchNorm2d(outward)
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.depthwise(self.widen(x))
        y = self.narrow(y * self.weigh(y))
        return x + y if self.skip else y


class Mobile(Own):
    """A classifier of inverted residuals with squeeze and excitation."""

    def __init__(self, side: int = 224) -> None:
        super().__init__()
        self.side = side
        self.stem = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU(inplace=True)
        )
        rows = [(32, 24, 2, 4, 3, 2), (24, 40, 2, 4, 5, 2), (40, 80, 2, 6, 3, 3),
                (80, 112, 1, 6, 5, 3), (112, 192, 2, 6, 5, 4)]  # fmt: skip
        self.blocks = nn.Sequential(
            *(Inverted(a if first else b, b, s if first else 1, w, taps)
              for a, b, s, w, taps, count in rows for first in [True] + [False] * (count - 1))
        )  # fmt: skip
        self.top = nn.Sequential(
            nn.Conv2d(192, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.SiLU(inplace=True)
        )
        self.head = nn.Linear(1280, 1000)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, self.side, self.side), torch.randint(0, 1000, (batch,))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        x = self.top(self.blocks(self.stem(x))).mean([2, 3])
        scores = self.head(F.dropout(x, 0.2, self.training))
        return self.result(scores, F.cross_entropy(scores, labels, label_smoothing=0.1))


class Dense(Own):
    """A densely connected network: each layer reads the outputs of all layers before it."""

    def __init__(self, growth: int = 32, layers: int = 12, side: int = 64) -> None:
        super().__init__()
        self.side = side
        self.stem = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.blocks, self.transitions = nn.ModuleList(), nn.ModuleList()
        width = 64
        for _ in range(3):
            block = nn.ModuleList()
            for _ in range(layers):
                block.append(nn.Sequential(
                    nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                    nn.Conv2d(width, 4 * growth, 1, bias=False), nn.BatchNorm2d(4 * growth),
                    nn.ReLU(inplace=True), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
                ))  # fmt: skip
                width += growth
            self.blocks.append(block)
            self.transitions.append(nn.Sequential(
                nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2),
            ))  # fmt: skip
            width //= 2
        self.head = nn.Linear(width, 100)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, self.side, self.side), torch.randint(0, 100, (batch,))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        x = self.stem(x)
        for block, transition in zip(self.blocks, self.transitions, strict=True):
            features = [x]
            for layer in block:  # pyright: ignore
                features.append(layer(torch.cat(features, 1)))
            x = transition(torch.cat(features, 1))
        scores = self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return self.result(scores, F.cross_entropy(scores, labels))


class ChannelNorm(nn.Module):
    """A layer norm over the channels of pictures, by a permutation and back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class LargeKernels(Own):
    """A classifier of depthwise convolutions of 7 × 7, layer norms and layer scales."""

    def __init__(self, side: int = 224) -> None:
        super().__init__()
        self.side = side
        widths, counts = (64, 128, 256, 512), (2, 2, 4, 2)
        self.downs, self.stages = nn.ModuleList(), nn.ModuleList()
        before = 3
        for i, (width, count) in enumerate(zip(widths, counts, strict=True)):
            stride = 2 if i else 4
            down = nn.Conv2d(before, width, stride, stride)
            self.downs.append(nn.Sequential(ChannelNorm(before), down) if i else down)
            self.stages.append(nn.ModuleList(
                nn.ModuleDict({
                    "depthwise": nn.Conv2d(width, width, 7, padding=3, groups=width),
                    "norm": nn.LayerNorm(width, eps=1e-6), "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }) for _ in range(count)
            ))  # fmt: skip
            before = width
        self.scales = nn.ParameterList(
            nn.Parameter(1e-6 * torch.ones(w)) for w, n in zip(widths, counts, strict=True)
            for _ in range(n)
        )  # fmt: skip
        self.norm, self.head = nn.LayerNorm(512), nn.Linear(512, 1000)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, self.side, self.side), torch.randint(0, 1000, (batch,))

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        scales = iter(self.scales)
        for down, stage in zip(self.downs, self.stages, strict=True):
            x = down(x)
            for block in stage:  # pyright: ignore
                y = block["depthwise"](x).permute(0, 2, 3, 1)
                y = block["down"](F.gelu(block["up"](block["norm"](y))))
                x = x + (next(scales) * y).permute(0, 3, 1, 2)
        scores = self.head(self.norm(x.mean([-2, -1])))
        return self.result(scores, F.cross_entropy(scores, labels))


MOBILE: dict[str, type[Own]] = {"mobile": Mobile, "dense": Dense, "large-kernels": LargeKernels}
"""By name."""
