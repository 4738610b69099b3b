"""ResNet: He et al. 2015, "Deep Residual Learning"; the stride sits on the 3x3 (v1.5)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


def convolution(channels: int, out: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """A convolution without bias, then a batch normalisation with bias."""
    return nn.Sequential(
        nn.Conv2d(channels, out, kernel, stride, padding=kernel // 2, bias=False),
        nn.BatchNorm2d(out),
    )


class Block(nn.Module):
    """Two 3x3 convolutions; with `bottleneck` a 1x1, a 3x3, and a 1x1 to four times the width."""

    def __init__(self, channels: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        out = 4 * width if bottleneck else width
        if bottleneck:
            steps = [
                convolution(channels, width, 1),
                convolution(width, width, 3, stride),
                convolution(width, out, 1),
            ]
        else:
            steps = [convolution(channels, width, 3, stride), convolution(width, out, 3)]
        self.steps = nn.ModuleList(steps)
        self.shortcut = None
        if stride != 1 or channels != out:
            self.shortcut = convolution(channels, out, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, channels, side, side] -> [batch, out, side / stride, side / stride]."""
        y = x
        for i, step in enumerate(self.steps):
            y = step(F.relu(y, inplace=True) if i else y)
        y += x if self.shortcut is None else self.shortcut(x)
        return F.relu(y, inplace=True)


class ResNet(nn.Module):
    """A 7x7 stem, four stages of residual blocks, global pooling and a classifier."""

    def __init__(
        self,
        depths: tuple[int, ...] = (3, 4, 6, 3),
        bottleneck: bool = True,
        width: int = 64,
        image: int = 224,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.image = image
        self.classes = classes
        self.stem = convolution(3, width, 7, 2)
        blocks: list[nn.Module] = []
        channels = width
        for stage, depth in enumerate(depths):
            for i in range(depth):
                stride = 2 if stage and i == 0 else 1
                blocks.append(Block(channels, width << stage, stride, bottleneck))
                channels = (width << stage) * (4 if bottleneck else 1)
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Images [batch, 3, image, image], then labels [batch] if training; `seq` is ignored."""
        x = torch.randn(batch, 3, self.image, self.image, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.classes, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, 3, image, image] -> logits [batch, classes]."""
        x = F.relu(self.stem(x), inplace=True)
        x = self.blocks(F.max_pool2d(x, 3, stride=2, padding=1))
        logits = self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
