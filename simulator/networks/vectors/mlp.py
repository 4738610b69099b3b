"""A plain multilayer perceptron: all overhead if narrow, all matrix products if wide."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


class Mlp(nn.Module):
    """`depth` square linear layers with ReLU between, then a classifier."""

    def __init__(self, width: int = 128, depth: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.width = width
        self.classes = classes
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, classes)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """x [batch, width], then labels [batch] if training; `seq` is ignored."""
        x = torch.randn(batch, self.width, dtype=self.head.weight.dtype)
        return (x, torch.randint(0, self.classes, (batch,))) if training else (x,)

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """x [batch, width] -> logits [batch, classes]."""
        for layer in self.layers:
            x = F.relu(layer(x))
        logits = self.head(x)
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits, labels))
