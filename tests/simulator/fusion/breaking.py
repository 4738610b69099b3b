"""Networks that torch.compile cannot compile as one graph. Tests refer to their lines."""

from __future__ import annotations

import logging
import zlib

import torch
from torch import Tensor, nn

LOG = logging.getLogger(__name__)


class Two(nn.Module):
    """Two layers with a function between them, which differs by test."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(64, 64), nn.Linear(64, 64)

    def example_inputs(self, batch: int, seq: int) -> tuple[Tensor, ...]:
        return (torch.randn(batch, 64),)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.down(self.between(torch.relu(self.up(x)))))

    def between(self, x: Tensor) -> Tensor:
        return x


class Prints(Two):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        print("halfway")
        return torch.relu(self.down(x))


class Logs(Two):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        LOG.info("halfway")
        return torch.relu(self.down(x))


class Item(Two):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        scale = x.sum().item()
        return torch.relu(self.down(x)) * scale


class Branches(Two):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        if x.sum() > 0:
            x = x + 1
        return torch.relu(self.down(x))


class Masks(Two):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        some = x[x > 0]
        return torch.relu(self.down(x)) + some.sum()


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        return gradients[0] * 2


class Doubles(Two):
    def between(self, x: Tensor) -> Tensor:
        return Twice.apply(x)


class Said(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        print("doubled")
        return x * 2

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        return gradients[0] * 2


class Says(Two):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.down(Said.apply(torch.relu(self.up(x)))))


@torch.compiler.disable
def apart(x: Tensor) -> Tensor:
    return torch.sin(x)


class Disabled(Two):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.down(apart(torch.relu(self.up(x)))))  # pyright: ignore


class InC(Two):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        checked = zlib.crc32(b"halfway") % 2 + 1
        return torch.relu(self.down(x)) * checked


class Looped(nn.Module):
    """Blocks with one graph break each, called in a loop: the function around the loop is not
    compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.blocks = nn.Linear(64, 64), nn.ModuleList([Item(), Item()])

    def example_inputs(self, batch: int, seq: int) -> tuple[Tensor, ...]:
        return (torch.randn(batch, 64),)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        for block in self.blocks:
            x = block(x)
        return torch.relu(x * 2)


class Unrolled(Looped):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.up(x))
        x = self.blocks[0](x)
        x = self.blocks[1](x)
        return torch.relu(x * 2)


class Numbered(nn.Module):
    """A layer that reads its own number, as layers with a cache do."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.layer, self.number = nn.Linear(64, 64), number

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.layer(x)) + self.number


class InTurn(Looped):
    """Twelve layers with a graph break after each; all identical, or each with its own number."""

    def __init__(self, numbered: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Numbered(i if numbered else 1) for i in range(12))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
            print(end="")
        return x


@torch.compiler.allow_in_graph
def checked(x: Tensor) -> Tensor:
    return x * (zlib.crc32(b"halfway") % 2 + 1)


class Allowed(Two):
    def between(self, x: Tensor) -> Tensor:
        return checked(x)
