"""The knapsack of the memory budget against torch's own, and hand-counted memory sectors."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch._functorch import config
from torch._functorch._activation_checkpointing.knapsack import dp_knapsack

from simulator.fusion.kinds import is_pointwise, kind
from simulator.fusion.lowering.sectors import sector_bytes
from simulator.fusion.passes.budget import _left_out
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import sig
from tests.simulator.fusion.passes.test_rematerialization import ONE, ROWS, WIDTH, cut, stepped
from tests.simulator.fusion.passes.torch_partition import torch_keeps


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_out_is_what_torch_leaves_out(seed: int) -> None:
    chance = random.Random(seed)
    left = 0
    for _ in range(40):
        count = chance.randint(1, 12)
        sizes = [round(chance.uniform(0.0, 0.5), 4) for _ in range(count)]
        values = [chance.choice((1, 1, 1, chance.randint(2, 10**9))) for _ in range(count)]
        most = chance.choice((0.0, 0.1, 0.25, 0.5, 0.9, 1.0))
        _, _, recomputed = dp_knapsack(sizes, [float(value) for value in values], most)
        assert sorted(_left_out(sizes, values, most)) == sorted(recomputed), (sizes, values, most)
        left += len(recomputed)
    assert left > 40


@pytest.mark.parametrize(
    ("sizes", "values", "most", "left_out"),
    [
        # with a limit of 0.5, the second and third, worth 5, are taken rather than the first, worth
        # 4
        ([0.5, 0.25, 0.25], [4, 3, 2], 0.5, [0]),
        ([0.5, 0.25, 0.25], [6, 3, 2], 0.5, [2, 1]),
        ([0.5, 0.5], [1, 1], 1.0, []),  # they fill it exactly
        ([0.5, 0.5001], [1, 1], 1.0, [1]),
        ([0.3], [7], 0.2999, [0]),
        # In single precision, 2²⁵ + 1 equals 2²⁵: the item worth 1 is left out, although there is
        # room for it.
        ([0.2, 0.3], [2**25, 1], 1.0, [1]),
        ([0.2, 0.3], [2**23, 1], 1.0, []),
    ],
)
def test_the_most_valuable_set(
    sizes: list[float], values: list[int], most: float, left_out: list[int]
) -> None:
    assert _left_out(sizes, values, most) == left_out


class Waist(nn.Module):
    """Products of equal FLOPs, whose results are 4 times as wide in turn."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (WIDTH, 4 * WIDTH) * 2 + (WIDTH,)
        self.layers = nn.ModuleList(map(nn.Linear, sizes, sizes[1:]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.sin(layer(x))
        return x


def test_of_equally_valuable_results_the_knapsack_keeps_those_that_torch_keeps() -> None:
    """Two of four products fit in 30%: a wide and a narrow one, or both narrow ones."""
    network = Waist()
    with config.patch(activation_memory_budget=0.3):
        assert torch_keeps(network, (torch.randn(ROWS, WIDTH),)) == 5 * ONE
    assert cut(stepped(network), 0.3)[0] == 5 * ONE


@pytest.mark.parametrize(("shape", "dtype", "stride", "nbytes"), [
    ((8, 100), "float32", (100, 1), 3200),  # packed
    ((8, 100), "float32", (200, 1), 3200),  # packed rows
    ((8, 100), "float32", (200, 2), 6400),  # every other element: 8 bytes for 4
    ((8, 100), "float32", (800, 8), 25_600),  # one element of each sector of 32 bytes
    ((8, 100), "float32", (1600, 16), 25_600),  # still one sector per element
    ((8, 100), "bfloat16", (1600, 16), 25_600), ((8, 100), "bfloat16", (800, 8), 12_800),
    ((8, 100), "float32", (2, 16), 6400),  # the smallest stride decides
    ((8, 1), "float32", (1, 9), 32),  # the stride of a dimension of size 1 does not count
    ((8, 1), "float32", (3, 1), 96), ((8, 100), "float32", (2, 0), 64),
    ((1, 1), "float32", (9, 9), 4),
])  # fmt: skip
def test_whole_sectors_are_read(
    shape: tuple[int, ...], dtype: str, stride: tuple[int, ...], nbytes: int
) -> None:
    assert sector_bytes(Tensor(shape, dtype, stride)) == nbytes


X = ((4, 6), "float32")


@pytest.mark.parametrize(("op", "expected", "pointwise"), [
    (sig("aten.add.Tensor", X, self=X, other=X), "pointwise", True),
    (sig("aten.sum.default", ((), "float32"), self=X), "reduction", False),
    (sig("aten._softmax.default", X, None, {"dim": -1}, self=X), "reduction", False),
    (sig("aten.mm.default", ((4, 4), "float32"), self=X, mat2=((6, 4), "float32")), "library",
     False),
    (sig("aten.cat.default", ((8, 6), "float32"), None, {"dim": 0}, tensors=[X, X]), "pointwise",
     False),
    (sig("aten.view.default", ((24,), "float32"), (0, 0), {"size": [24]}, self=X), "none", True),
    (sig("mine.unknown.default", X, self=X), "library", False),
])  # fmt: skip
def test_kinds_of_kernels(op: Signature, expected: str, pointwise: bool) -> None:
    assert (kind(op), is_pointwise(op)) == (expected, pointwise)
