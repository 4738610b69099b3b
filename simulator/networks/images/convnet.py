"""A small convolutional network for digits, as in PyTorch's MNIST example."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


class ConvNet(nn.Module):
    """Two convolutions, one pooling and two linear layers."""

    def __init__(self, image: int = 28, channels: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.image = image
        self.classes = classes
        side = (image - 4) // 2  # two 3x3 convolutions without padding, then pooling by 2
        self.conv1 = nn.Conv2d(1, channels, 3)
        self.conv2 = nn.Conv2d(channels, 2 * channels, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.hidden = nn.Linear(2 * channels * side * side, 128)
        self.dropout2 = nn.Dropout(0.5)
        self.head = nn.Linear(128, classes)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Images [batch, 1, image, image], then labels [batch] if training; `seq` is ignored."""
        x = torch.randn(batch, 1, self.image, self.image, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.classes, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, 1, image, image] -> logits [batch, classes]."""
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = self.dropout1(F.max_pool2d(x, 2)).flatten(1)
        logits = self.head(self.dropout2(F.relu(self.hidden(x))))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
