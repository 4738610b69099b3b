"""Image and sound networks as users write them by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, double
from simulator.networks.output import Output


class HandUNet(Own):
    """A network that segments images of `side` pixels, with four levels and skip connections."""

    def __init__(self, width: int = 32, side: int = 256) -> None:
        super().__init__()
        self.side = side
        widths = [width * 2**i for i in range(5)]
        ends = zip([3, *widths], widths, strict=False)
        self.down = nn.ModuleList(double(a, b) for a, b in ends)
        pairs = list(zip(widths[::-1], widths[-2::-1], strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.join = nn.ModuleList(double(2 * b, b) for _, b in pairs)
        self.head = nn.Conv2d(width, 2, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, self.side, self.side),)

    def forward(self, x: Tensor) -> Any:
        skips: list[Tensor] = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            skips.append(x)
        for up, join, skip in zip(self.up, self.join, skips[-2::-1], strict=True):
            x = join(torch.cat([skip, up(x)], dim=1))
        return self.result(self.head(x))


class Siamese(Own):
    """One network applied to both images of each pair, with a contrastive loss over all pairs."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        blocks = [double(a, b) for a, b in ((3, width), (width, 2 * width), (2 * width, 4 * width))]
        self.blocks = nn.ModuleList(blocks)
        self.project = nn.Linear(4 * width, 128)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, 96, 96), self.random(batch, 3, 96, 96)

    def embed(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = F.max_pool2d(block(x), 2)
        return F.normalize(self.project(x.mean((2, 3))), dim=-1)

    def forward(self, a: Tensor, b: Tensor) -> Any:
        scores = self.embed(a) @ self.embed(b).t() / 0.07
        return self.result(scores, F.cross_entropy(scores, torch.arange(len(a), device=a.device)))


class Mixup(Own):
    """A plain convolutional network with mixup: images and classes are mixed in pairs."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        widths = [3, width, 2 * width, 4 * width, 4 * width]
        self.blocks = nn.ModuleList(double(a, b) for a, b in pairwise(widths))
        self.head = nn.Linear(widths[-1], 100)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return self.random(batch, 3, 32, 32), torch.randint(0, 100, (batch,))

    def forward(self, x: Tensor, y: Tensor) -> Any:
        order = torch.randperm(len(x), device=x.device) if self.training else None
        if order is not None:
            x = 0.7 * x + 0.3 * x[order]
        for block in self.blocks:
            x = F.avg_pool2d(block(x), 2)
        out = self.head(x.flatten(2).mean(-1))
        if order is None:
            return out
        mixed = 0.7 * F.cross_entropy(out, y) + 0.3 * F.cross_entropy(out, y[order])
        return Output(out, mixed)


class Spectrogram(Own):
    """A sound classifier: a logarithmic spectrogram and a convolutional network."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(1024))
        self.mel = nn.Linear(513, 80, bias=False)
        self.blocks = nn.ModuleList(double(a, b) for a, b in ((1, width), (width, 2 * width)))
        self.head = nn.Linear(2 * width, 50)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, seq),)

    def forward(self, wave: Tensor) -> Any:
        window: Any = self.window
        spectrum = torch.stft(wave.float(), 1024, 320, window=window.float(), return_complex=True)
        power = spectrum.abs().pow(2).transpose(1, 2).to(self.mel.weight.dtype)
        x = torch.log1p(self.mel(power)).unsqueeze(1)
        for block in self.blocks:
            x = F.max_pool2d(block(x), 2)
        return self.result(self.head(x.amax((2, 3))))


class Squeeze(nn.Module):
    """A bottleneck block with squeeze and excitation: a function of the means scales the
    channels."""

    def __init__(self, channels: int, middle: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, middle, 1, bias=False), nn.BatchNorm2d(middle), nn.SiLU(),
            nn.Conv2d(middle, middle, 3, stride, 1, groups=4, bias=False), nn.BatchNorm2d(middle),
            nn.SiLU(), nn.Conv2d(middle, out, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip
        self.fc1, self.fc2 = nn.Linear(out, out // 16), nn.Linear(out // 16, out)
        self.skip = nn.Conv2d(channels, out, 1, stride) if channels != out else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        weight = torch.sigmoid(self.fc2(F.relu(self.fc1(y.mean((-2, -1))))))
        return F.silu(self.skip(x) + y * weight[..., None, None])


class SEResNet(Own):
    """A residual network with squeeze and excitation."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, 2, 3)
        channels, blocks = width, list[nn.Module]()
        for stage, depth in enumerate((2, 3, 4, 2)):
            for i in range(depth):
                out = width * 2 ** (stage + 1)
                stride = 2 if i == 0 and stage else 1
                blocks.append(Squeeze(channels, out // 2, out, stride))
                channels = out
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(channels, 1000)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(batch, 3, 192, 192),)

    def forward(self, x: Tensor) -> Any:
        x = self.blocks(F.max_pool2d(self.stem(x), 3, 2, 1))
        return self.result(self.head(F.dropout(x.mean((2, 3)), 0.2, self.training)))


PICTURES: dict[str, type[Own]] = {
    "hand-unet": HandUNet,
    "siamese": Siamese,
    "mixup": Mixup,
    "spectrogram": Spectrogram,
    "se-resnet": SEResNet,
}
"""The networks by name."""
