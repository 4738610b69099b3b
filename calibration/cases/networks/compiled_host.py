"""Small modules whose compiled step is host-bound, each because of another kind of host work. Each
module repeats a tiny amount of GPU work `count` times.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from calibration.cases.networks.host import WIDTH, Micro


class AlternatingSums(Micro):
    """Generated kernels that cannot fuse, because sums along rows and columns alternate."""

    def body(self, x: Tensor) -> Tensor:
        x = x[:1] * self.scale + self.matrix
        for step in range(self.count):
            x = x / x.abs().sum(step % 2, keepdim=True)
        return x


class Layers(Micro):
    """Library calls that alternate with generated kernels."""

    def body(self, x: Tensor) -> Tensor:
        for _ in range(self.count):
            x = torch.relu(x.mm(self.matrix)) + self.scale
        return x


class ManyInputs(Micro):
    """A module that takes `count` tensors and launches few kernels."""

    def forward(self, *xs: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        total = xs[0] * self.scale
        for x in xs[1:]:
            total = total + x
        return total

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tuple(torch.randn(batch, WIDTH) for _ in range(self.count))


class Nested(Micro):
    """Nested modules, each with its own weight, in few kernels."""

    def __init__(self, count: int = 8) -> None:
        super().__init__(1)
        self.inner = nn.Sequential(
            *(nn.Sequential(nn.Sequential(Scaled(), Scaled())) for _ in range(count))
        )

    def body(self, x: Tensor) -> Tensor:
        return self.inner(x)


class Scaled(nn.Module):
    """A module with one weight per element of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class MlpBlock(nn.Module):
    """A layer norm, two products with a GELU between them, and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 2 * WIDTH)
        self.narrow = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.narrow(F.gelu(self.wide(self.norm(x))))


class AttentionBlock(nn.Module):
    """Norm and attention of 16 positions with two heads, followed by an `MlpBlock`."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = MlpBlock()

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(self.norm(x)).unflatten(-1, (3, 2, WIDTH // 2)).unbind(-3)
        q, k, v = (each.transpose(1, 2) for each in parts)
        heads = F.scaled_dot_product_attention(q, k, v)
        return self.mlp(x + self.out(heads.transpose(1, 2).flatten(2)))


class ImageBlock(nn.Module):
    """A convolution, batch norm, ReLU and residual."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(16, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)

    def forward(self, x: Tensor) -> Tensor:
        return x + F.relu(self.norm(self.conv(x)))


class Blocks(Micro):
    """`count` blocks in a row."""

    def __init__(self, count: int = 6) -> None:
        super().__init__(1)
        self.blocks = nn.Sequential(*(self.block() for _ in range(count)))

    def block(self) -> nn.Module:
        raise NotImplementedError

    def body(self, x: Tensor) -> Tensor:
        return self.blocks(x)


class MlpBlocks(Blocks):
    """Blocks of an MLP over rows."""

    def block(self) -> nn.Module:
        return MlpBlock()


class AttentionBlocks(Blocks):
    """Blocks of attention over sequences of 16."""

    def block(self) -> nn.Module:
        return AttentionBlock()

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        x = torch.randn(batch, 16, WIDTH, dtype=self.scale.dtype)
        return (x, x) if training else (x,)


class ImageBlocks(Blocks):
    """Blocks of convolutions over images of 16 × 8 × 8."""

    def block(self) -> nn.Module:
        return ImageBlock()

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        x = torch.randn(batch, 16, 8, 8, dtype=self.scale.dtype)
        return (x, x) if training else (x,)


BLOCKS: dict[str, Callable[..., nn.Module]] = {
    kind.__name__.lower(): kind
    for kind in (
        AlternatingSums,
        Layers,
        ManyInputs,
        Nested,
        MlpBlocks,
        AttentionBlocks,
        ImageBlocks,
    )
}
