"""Small modules, each of which exercises some of Inductor's rules; `record` compiles them, and a
test compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BF16, FP32 = torch.bfloat16, torch.float32


class Step(nn.Module):
    """A function of parameters `w` [64, 64] and `b` [64], of `layers` and of inputs."""

    def __init__(
        self, function: Callable[..., Any], *inputs: Tensor, layers: tuple[nn.Module, ...] = ()
    ) -> None:
        super().__init__()
        self.function, self.inputs = function, inputs
        dtype = next((t.dtype for t in inputs if t.is_floating_point()), FP32)
        self.w, self.b = (nn.Parameter(torch.zeros(s, dtype=dtype)) for s in ((64, 64), (64,)))
        self.layers = nn.ModuleList(layers)

    def forward(self, *args: Tensor) -> Any:
        return self.function(self, *args)

    def example_inputs(self, batch: int) -> tuple[Tensor, ...]:
        return self.inputs


def zeros(*shape: int, dtype: torch.dtype = FP32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


def _ids(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.int64)


def many_readers() -> Step:
    """A sum of ten inputs, of which the first five are also read together."""

    def function(_: Step, *xs: Tensor) -> Any:
        five = xs[0] * xs[1] + xs[2] * xs[3] + xs[4]
        return five.sin(), five.sum(-1), five + xs[5] + xs[6] + xs[7] + xs[8] + xs[9]

    return Step(function, *(zeros(256, 64) for _ in range(10)))


def long_chain() -> Step:
    """A value after 40 ops that two loops and a sum read."""

    def function(_: Step, x: Tensor) -> Any:
        for _i in range(20):
            x = (x * 1.5).sin()
        return x + 1, x.sum(-1), x[:, :32] * 2

    return Step(function, zeros(512, 64))


def joined() -> Step:
    """Concatenations of three and of nine operands."""

    def function(_: Step, x: Tensor, y: Tensor) -> Any:
        nine = torch.cat([(x * i).cos() for i in range(9)], 1)
        return torch.cat([x.exp(), y, x + y], 0).tanh(), nine

    return Step(function, zeros(128, 64), zeros(128, 64))


def turned_sums() -> Step:
    """Sums along and across memory, of operands and of their transposed views."""

    def function(_: Step, x: Tensor, y: Tensor) -> Any:
        return x.sum(0), x.t().exp().sum(-1), (y * 2).t().sum(0), x.t().mean(0)

    return Step(function, zeros(4096, 512), zeros(4096, 768))


def one_number() -> Step:
    """Sums over all elements, in one step and in two."""

    def function(_: Step, x: Tensor, y: Tensor) -> Any:
        return (x * x).sum(), y.mean(), (y.float() - 1).pow(2).mean(), x.amax()

    return Step(function, zeros(64, 64), zeros(2048, 1024, dtype=BF16))


def norms() -> Step:
    """Norms before and after residual connections, in half precision."""

    def function(m: Step, x: Tensor, y: Tensor) -> Any:
        h = m.layers[0](x + y)
        return m.layers[1](h * 2) + x, m.layers[2](y).sum(-1)

    layers = nn.LayerNorm(64, dtype=BF16), nn.RMSNorm(64, dtype=BF16), nn.LayerNorm(64, dtype=BF16)
    return Step(function, zeros(512, 64, dtype=BF16), zeros(512, 64, dtype=BF16), layers=layers)


def long_rows() -> Step:
    """Softmaxes of rows that fit in registers and of longer ones."""

    def function(_: Step, x: Tensor, y: Tensor) -> Any:
        return (
            torch.softmax(x * 2, -1),
            torch.log_softmax(y, -1),
            torch.softmax(x, 0),
            torch.cumsum(x, -1) + 1,
        )

    return Step(function, zeros(128, 512), zeros(64, 8192, dtype=BF16))


def cut_products() -> Step:
    """Products with biases, read by loops, by sums, and by other products."""

    def function(m: Step, x: Tensor) -> Any:
        h = torch.relu(torch.addmm(m.b, x, m.w))
        s = torch.softmax(torch.addmm(m.b, h, m.w), -1)
        return s @ m.w, torch.addmm(m.b, x, m.w.t()).t().sin()

    return Step(function, zeros(256, 64))


def written_in_place() -> Step:
    """Loops that overwrite their operands."""

    def function(m: Step, x: Tensor) -> Any:
        h = (x @ m.w).add_(1).relu_()
        h[:, :32] *= 2
        return h.mul_(3), h.sum(-1)

    return Step(function, zeros(256, 64))


def moved() -> Step:
    """Rolls, flips, pads, windows and gathers between loops."""

    def function(_: Step, x: Tensor, at: Tensor) -> Any:
        y = x.exp()
        windows = y.view(8, 4, 4, 4, 4, 16).transpose(2, 3).reshape(-1, 16)
        return (
            torch.roll(y, 1, 2) + y.flip(1),
            F.pad(y, (0, 0, 1, 1)).cos(),
            windows.tanh(),
            torch.gather(y, 1, at) * 2,
            y[:, ::2].sum(-1),
        )

    return Step(function, zeros(8, 16, 16, 16), _ids(8, 16, 16, 16))


def resized() -> Step:
    """Images resized and pooled between loops."""

    def function(_: Step, x: Tensor) -> Any:
        y = x.sigmoid() * x
        return (
            F.interpolate(y, scale_factor=2.0) + 1,
            F.interpolate(y, scale_factor=2.0, mode="bilinear").relu(),
            F.avg_pool2d(y, 2).exp(),
            F.max_pool2d(y, 3, 2, 1).exp(),
            F.adaptive_avg_pool2d(y, 1).flatten(1) * 2,
        )

    return Step(function, zeros(4, 16, 32, 32))


def with_heads() -> Step:
    """Attention as separate ops: with a mask for each pair of tokens, and with weights that are
    returned."""

    def function(_: Step, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
        one = ((q @ k.transpose(-2, -1)) / 8.0 + mask).softmax(-1) @ v
        weights = ((q @ k.transpose(-2, -1)) / 4.0).softmax(-1)
        return one.transpose(1, 2).reshape(2, 128, 256), weights @ v, weights.sum(-1)

    heads = (zeros(2, 4, 128, 64, dtype=BF16) for _ in range(3))
    return Step(function, *heads, zeros(1, 1, 128, 128, dtype=BF16))


def without_heads() -> Step:
    """Attention as separate ops with one head, and with a softmax across the queries."""

    def function(_: Step, q: Tensor, k: Tensor, v: Tensor) -> Any:
        one = ((q @ k.transpose(-2, -1)) / 8.0).softmax(-1) @ v
        return one + 1, ((q @ k.transpose(-2, -1)) * 0.125).softmax(1) @ v

    return Step(function, *(zeros(8, 128, 64, dtype=BF16) for _ in range(3)))


def image_norms() -> Step:
    """Convolutions with batch and group norms, activations that clamp, and pools."""

    def function(m: Step, x: Tensor) -> Tensor:
        h = F.relu6(m.layers[1](m.layers[0](x)))
        h = F.max_pool2d(h, 2)
        return F.silu(m.layers[3](m.layers[2](h))).mean()

    layers = (
        nn.Conv2d(16, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.GroupNorm(4, 32),
    )
    return Step(function, zeros(8, 16, 32, 32), layers=layers)


def looked_up() -> Step:
    """Rows of a table, and elements of a parameter at given positions."""

    def function(m: Step, ids: Tensor, x: Tensor) -> Tensor:
        return (m.layers[0](ids) * x + m.w[ids]).float().pow(2).mean()

    table = nn.Embedding(1000, 64, dtype=BF16)
    return Step(function, _ids(256), zeros(256, 64, dtype=BF16), layers=(table,))


def classified() -> Step:
    """A loss of logits of 1,001 classes, with dropout before them."""

    def function(m: Step, x: Tensor, targets: Tensor) -> Tensor:
        h = F.dropout(F.gelu(m.layers[0](x)), 0.1)
        return F.cross_entropy(m.layers[1](F.dropout(h + x, 0.2)).float(), targets)

    layers = nn.Linear(64, 64, dtype=BF16), nn.Linear(64, 1001, dtype=BF16)
    return Step(function, zeros(512, 64, dtype=BF16), _ids(512), layers=layers)


def normed_both_ways() -> Step:
    """A layer norm whose gradients are summed along and across 8,192 rows."""

    def function(m: Step, x: Tensor) -> Tensor:
        return m.layers[2](torch.tanh(m.layers[1](m.layers[0](x)))).float().mean()

    layers = (
        nn.Linear(64, 768, dtype=BF16),
        nn.LayerNorm(768, dtype=BF16),
        nn.Linear(768, 64, dtype=BF16),
    )
    return Step(function, zeros(8192, 64, dtype=BF16), layers=layers)


def gated() -> Step:
    """A gated layer with a residual connection, whose gate is recomputed."""

    def function(m: Step, x: Tensor) -> Tensor:
        h = m.layers[0](x)
        a, b = (h @ m.w, h @ m.w.t())
        return (x + F.silu(a) * b + torch.sigmoid(b)).pow(2).mean()

    return Step(function, zeros(512, 64), layers=(nn.RMSNorm(64),))


def clamped() -> Step:
    """Activations whose backward pass reads masks, in half precision."""

    def function(m: Step, x: Tensor) -> Tensor:
        h = F.relu(m.layers[0](x))
        h = F.hardtanh(m.layers[1](h), -2.0, 2.0)
        return F.leaky_relu(m.layers[2](h), 0.1).float().abs().mean()

    return Step(
        function,
        zeros(256, 64, dtype=BF16),
        layers=tuple(nn.Linear(64, 64, dtype=BF16) for _ in "abc"),
    )


def softmaxes_in_training() -> Step:
    """A softmax along rows and one across them, whose backward passes are sums."""

    def function(m: Step, x: Tensor) -> Tensor:
        h = torch.softmax(x @ m.w, -1) @ m.w
        return (torch.softmax(h, 0) * torch.log_softmax(h, -1)).sum()

    return Step(function, zeros(256, 64, dtype=BF16))
