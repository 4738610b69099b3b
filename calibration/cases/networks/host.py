"""Micro-networks that vary one kind of host work at a time, to fit `Host.seconds`. Each network
repeats a tiny amount of GPU work `count` times.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from simulator.networks.output import Output

WIDTH = 64


class Micro(nn.Module):
    """Run `body(self, x)` over a small tensor; with labels, the loss is the mean square."""

    def __init__(self, count: int = 100) -> None:
        super().__init__()
        self.count = count
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.matrix = nn.Parameter(torch.eye(WIDTH))
        self.children_ = nn.ModuleList(nn.Identity() for _ in range(count))

    def body(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        out = self.body(x)
        return out if labels is None else Output(out, out.float().pow(2).mean())

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        x = torch.randn(batch, WIDTH, dtype=self.scale.dtype)
        return (x, x) if training else (x,)


class Views(Micro):
    """Views of one kind with the shape and strides of their operand."""

    def body(self, x: Tensor) -> Tensor:
        x = x * self.scale
        for _ in range(self.count):
            x = x.view(-1, WIDTH)
        return x


class Transposes(Micro):
    """Views with other strides."""

    def body(self, x: Tensor) -> Tensor:
        x = x * self.scale
        for _ in range(self.count):
            x = x.transpose(0, 1)
        return x


class Adds(Micro):
    """Pointwise ops that allocate."""

    def body(self, x: Tensor) -> Tensor:
        x = x * self.scale
        for _ in range(self.count):
            x = x + 1.0
        return x


class AddsInPlace(Micro):
    """Pointwise ops in place."""

    def body(self, x: Tensor) -> Tensor:
        x = x + 1.0
        for _ in range(self.count):
            x.add_(1.0)
        return x


class Scales(Micro):
    """Pointwise ops of two tensors, with a parameter's gradient."""

    def body(self, x: Tensor) -> Tensor:
        for _ in range(self.count):
            x = x * self.scale
        return x


class Products(Micro):
    """Calls of cuBLAS."""

    def body(self, x: Tensor) -> Tensor:
        for _ in range(self.count):
            x = x.mm(self.matrix)
        return x


class Linears(Micro):
    """A transposition and a call of cuBLAS with a bias."""

    def body(self, x: Tensor) -> Tensor:
        for _ in range(self.count):
            x = F.linear(x, self.matrix, self.scale)
        return x


class Norms(Micro):
    """Ops with three results."""

    def body(self, x: Tensor) -> Tensor:
        for _ in range(self.count):
            x = F.layer_norm(x, (WIDTH,), self.scale, self.scale)
        return x


class Softmaxes(Micro):
    """Ops that go through a Python function."""

    def body(self, x: Tensor) -> Tensor:
        x = x * self.scale
        for _ in range(self.count):
            x = F.softmax(x, -1)
        return x


class Sums(Micro):
    """Reductions."""

    def body(self, x: Tensor) -> Tensor:
        x = x * self.scale
        for _ in range(self.count):
            x = x + x.sum(0)
        return x


class Casts(Micro):
    """Ops that convert dtypes."""

    def body(self, x: Tensor) -> Tensor:
        for _ in range(self.count // 2):
            x = x.to(torch.float64).to(torch.float32)
        return x


class Identities(Micro):
    """Module calls that do nothing."""

    def body(self, x: Tensor) -> Tensor:
        for child in self.children_:
            x = child(x)
        return x + 1.0


class PythonCalls(Micro):
    """Python calls that do nothing."""

    def body(self, x: Tensor) -> Tensor:
        def nothing(value: int) -> int:
            return value

        for i in range(20 * self.count):
            nothing(i)
        return x + 1.0


class Weights(Micro):
    """Many small parameters: the optimizer's host work."""

    def __init__(self, count: int = 100) -> None:
        super().__init__(1)
        self.many = nn.ParameterList(nn.Parameter(torch.ones(WIDTH)) for _ in range(count))

    def body(self, x: Tensor) -> Tensor:
        for weight in self.many:
            x = x + weight
        return x


MICRO: dict[str, Callable[..., Micro]] = {
    kind.__name__.lower(): kind
    for kind in (
        Views, Transposes, Adds, AddsInPlace, Scales, Products, Linears, Norms, Softmaxes, Sums,
        Casts, Identities, PythonCalls, Weights,
    )
}  # fmt: skip
