"""The arithmetic intensity of the essay "Making Deep Learning Go Brrrr From First Principles"."""

import torch
from torch import Tensor, nn


class MultiplyAdds(nn.Module):
    """`x = x * 0.5 + 1`, n times: fused, one read and one write with 2·n FLOPs between them."""

    def __init__(self, n: int = 1, elements: int = 16_777_216) -> None:
        super().__init__()
        self.n = n
        self.elements = elements

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """x [batch, elements]; `seq` is ignored. There is nothing to train."""
        if training:
            raise ValueError("multiply-adds have no parameters to train: use training=False")
        return (torch.randn(batch, self.elements),)

    def forward(self, x: Tensor) -> Tensor:
        """x of any shape -> the same shape."""
        for _ in range(self.n):
            x = x * 0.5 + 1.0
        return x
