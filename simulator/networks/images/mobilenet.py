"""MobileNetV2: Sandler et al. 2018, "Inverted Residuals and Linear Bottlenecks"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output

# Expansion, channels, repeats and first stride of each stage: table 2 of the paper.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def convolution(
    channels: int, out: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    """Convolution, batch normalisation and ReLU6."""
    return [
        nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU6(inplace=True),
    ]


class InvertedResidual(nn.Module):
    """A 1x1 expansion, a depthwise 3x3, and a linear 1x1 projection."""

    def __init__(self, channels: int, out: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = expansion * channels
        widen = convolution(channels, hidden) if expansion != 1 else []
        self.steps = nn.Sequential(
            *widen,
            *convolution(hidden, hidden, 3, stride, groups=hidden),
            nn.Conv2d(hidden, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.residual = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        """[batch, channels, side, side] -> [batch, out, side / stride, side / stride]."""
        return x + self.steps(x) if self.residual else self.steps(x)


class MobileNetV2(nn.Module):
    """The stages of the paper at width multiplier 1, global pooling and a classifier."""

    def __init__(self, image: int = 224, classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        self.image = image
        self.classes = classes
        parts = convolution(3, 32, 3, 2)
        channels = 32
        for expansion, out, repeats, first in STAGES:
            for i in range(repeats):
                parts.append(InvertedResidual(channels, out, 1 if i else first, expansion))
                channels = out
        self.features = nn.Sequential(*parts, *convolution(channels, 1280))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(1280, classes)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Images [batch, 3, image, image], then labels [batch] if training; `seq` is ignored."""
        x = torch.randn(batch, 3, self.image, self.image, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.classes, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, 3, image, image] -> logits [batch, classes]."""
        x = F.adaptive_avg_pool2d(self.features(x), 1).flatten(1)
        logits = self.head(self.dropout(x))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
