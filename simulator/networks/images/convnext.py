"""ConvNeXt: Liu et al. 2022, "A ConvNet for the 2020s"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.images.stochastic_depth import StochasticDepth
from simulator.networks.output import Output


class ChannelNorm(nn.LayerNorm):
    """Layer normalisation over the channels of [batch, channels, height, width]."""

    def forward(self, input: Tensor) -> Tensor:
        """[batch, channels, height, width] -> the same shape."""
        return super().forward(input.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Block(nn.Module):
    """A depthwise 7x7 convolution, then an inverted bottleneck on the channels."""

    def __init__(self, width: int, drop: float) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width, 1, 1), 1e-6))
        self.drop = StochasticDepth(drop)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, width, side, side] -> the same shape."""
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)
        return x + self.drop(self.scale * y)


class ConvNext(nn.Module):
    """Four stages of blocks; each stage starts by halving the image's side."""

    def __init__(
        self,
        widths: tuple[int, ...] = (96, 192, 384, 768),
        depths: tuple[int, ...] = (3, 3, 9, 3),
        image: int = 224,
        classes: int = 1000,
        drop: float = 0.1,
    ) -> None:
        super().__init__()
        self.image = image
        self.classes = classes
        drops = iter(i * drop / max(sum(depths) - 1, 1) for i in range(sum(depths)))
        parts: list[nn.Module] = [
            nn.Conv2d(3, widths[0], 4, stride=4),
            ChannelNorm(widths[0], eps=1e-6),
        ]
        for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
            if stage:
                parts.append(ChannelNorm(widths[stage - 1], eps=1e-6))
                parts.append(nn.Conv2d(widths[stage - 1], width, 2, stride=2))
            parts.extend(Block(width, next(drops)) for _ in range(depth))
        self.features = nn.Sequential(*parts)
        self.norm = nn.LayerNorm(widths[-1], eps=1e-6)
        self.head = nn.Linear(widths[-1], classes)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Images [batch, 3, image, image], then labels [batch] if training; `seq` is ignored."""
        x = torch.randn(batch, 3, self.image, self.image, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.classes, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, 3, image, image] -> logits [batch, classes]."""
        x = self.features(x)
        logits = self.head(self.norm(x.mean(dim=(2, 3))))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
