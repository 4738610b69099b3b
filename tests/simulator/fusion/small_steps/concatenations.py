"""Small modules with long concatenations and written slices; see `modules`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.simulator.fusion.small_steps.modules import Step, zeros


def parts_of_one_size() -> Step:
    """Two concatenations of ten computed parts: one whose values only its own reader uses, and one
    whose values loops read too."""

    def function(_: Step, x: Tensor, y: Tensor) -> Any:
        ten = torch.cat([(x * (i + 1)).cos() for i in range(10)], 1)
        parts = [y.exp() + i for i in range(10)]
        return ten.exp(), torch.cat(parts, 1), parts[3] * 2

    return Step(function, zeros(128, 64), zeros(128, 64))


def parts_of_many_sizes() -> Step:
    """Concatenations of ten parts: of different sizes, and of inputs and views of them."""

    def function(_: Step, x: Tensor, *ys: Tensor) -> Any:
        cut = [x[:, : 8 * i].sin() for i in range(1, 11)]
        return torch.cat(cut, 1), torch.cat(ys, 0), torch.cat([y[:8] for y in ys], 0).sum(-1)

    return Step(function, zeros(128, 96), *(zeros(16 * i, 64) for i in range(1, 11)))


def parts_of_kernels() -> Step:
    """Concatenations of ten results of matrix products, and of ten sums."""

    def function(m: Step, x: Tensor, y: Tensor) -> Any:
        products = [(x + i) @ m.w for i in range(10)]
        sums = [(y * (i + 1)).sin().sum(-1, keepdim=True) for i in range(10)]
        return torch.cat(products, 1).exp(), torch.cat(sums, 1)

    return Step(function, zeros(128, 64), zeros(128, 64))


def written_slices() -> Step:
    """Loops that overwrite parts of computed values, which other loops read as a whole."""

    def function(m: Step, x: Tensor, y: Tensor, z: Tensor) -> Any:
        h = y.sin()
        h[:, :16].add_(z)
        g = x @ m.w
        g[64:128] = z.exp().sum()
        g[:, 0] = 0
        return h * 2, g.sum(-1), g[:64] + 1

    return Step(function, zeros(256, 64), zeros(256, 64), zeros(256, 16))
