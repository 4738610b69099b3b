"""The pointwise chain of the essay "Making Deep Learning Go Brrrr From First Principles"."""

import torch
from torch import Tensor, nn


class Chain(nn.Module):
    """`x.cos().cos()…`, n times: one read and one write per op until a compiler fuses them."""

    def __init__(self, n: int = 2, elements: int = 16_777_216) -> None:
        super().__init__()
        self.n = n
        self.elements = elements

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """x [batch, elements]; `seq` is ignored. There is nothing to train."""
        if training:
            raise ValueError("a chain has no parameters to train: use training=False")
        return (torch.randn(batch, self.elements),)

    def forward(self, x: Tensor) -> Tensor:
        """x of any shape -> the same shape."""
        for _ in range(self.n):
            x = x.cos()
        return x
