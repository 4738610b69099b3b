"""Stacks of identical layers, each with its own weights, on a small tensor. They separate the
host's cost of each kind of layer in each phase of a training step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from calibration.cases.networks.host import Micro

CHANNELS, SIDE, WIDTH, TOKENS = 16, 8, 64, 8


class _Residual(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layer(x)


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        b, s, _ = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, WIDTH)


def _convolution() -> nn.Module:
    return nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False)


def _block() -> nn.Module:
    return nn.Sequential(_convolution(), nn.BatchNorm2d(CHANNELS), nn.ReLU(inplace=True))


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "convolution": _convolution,
    "biased_convolution": lambda: nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
    "depthwise": lambda: nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS, bias=False),
    "batch_norm": lambda: nn.BatchNorm2d(CHANNELS),
    "relu": lambda: nn.ReLU(inplace=True),
    "block": _block,
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "unbiased_linear": lambda: nn.Linear(WIDTH, WIDTH, bias=False),
    "layer_norm": lambda: nn.LayerNorm(WIDTH),
    "gelu": nn.GELU,
    "residual_linear": lambda: _Residual(nn.Linear(WIDTH, WIDTH)),
    "attention": _Attention,
    "dropout": lambda: nn.Dropout(0.1),
}
"""The layer of each stack."""
_PICTURES = ("convolution", "biased_convolution", "depthwise", "batch_norm", "relu", "block")


class Stack(Micro):
    """`count` layers of a kind."""

    def __init__(self, kind: str, count: int = 40) -> None:
        super().__init__(1)
        self.is_picture = kind in _PICTURES
        self.layers = nn.Sequential(*(LAYERS[kind]() for _ in range(count)))

    def body(self, x: Tensor) -> Tensor:
        return self.layers(x * self.scale[0])

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        shape = (batch, CHANNELS, SIDE, SIDE) if self.is_picture else (batch, TOKENS, WIDTH)
        x = torch.randn(shape, dtype=self.scale.dtype)
        return (x, x) if training else (x,)


STACKS: dict[str, Callable[..., nn.Module]] = {
    f"stack-{kind}": lambda kind=kind, **sizes: Stack(kind, **sizes) for kind in LAYERS
}
"""The networks by name."""
