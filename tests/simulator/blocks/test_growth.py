"""The increase per block is derived from two traces, which must agree."""

from __future__ import annotations

import msgspec
import pytest
import torch
from torch import nn

from simulator.blocks.growth import growth
from simulator.blocks.runs import (
    UnequalBlocksError,
    block_count,
    path_of_blocks,
    renumbered,
)
from simulator.records import Trace
from simulator.tracing import trace


class Tower(nn.Module):
    """Equal linear layers; from layer `odd` on, with another function between them."""

    def __init__(self, depth: int, odd: int = 99) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(*(nn.Linear(8, 8) for _ in range(4))) for _ in range(depth)
        )
        self.odd = odd

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(x)
            x = x.tanh() if number >= self.odd else x.relu()
        return x


def tower(depth: int, odd: int = 99) -> Trace:
    return trace(Tower(depth, odd), (torch.ones(2, 8),), phase="training")


def test_a_tower_grows_as_its_trace() -> None:
    few, more, whole = tower(4), tower(5), tower(12)
    each = growth(few, more, "layers")
    assert each.of_the_trace["parameters"] == 4 * (8 * 8 + 8)
    assert each.of_the_trace["weight_bytes"] == 16 * (8 * 8 + 8)
    assert (each.grown(few, 12) == whole) is True
    assert each.grown(few, 12).ops[-1].storages == whole.ops[-1].storages


def test_one_more_block_that_differs_is_refused() -> None:
    with pytest.raises(UnequalBlocksError, match=r"^repeating the traced blocks does not give"):
        growth(tower(4), tower(5, odd=4), "layers")
    with pytest.raises(UnequalBlocksError, match=r"^one more block has other ops$"):
        growth(tower(4), tower(6), "layers")


def test_graph_breaks_are_refused() -> None:
    few = tower(4)
    each = growth(few, tower(5), "layers")
    broken = msgspec.structs.replace(few, breaks=[*_broken().breaks])
    with pytest.raises(UnequalBlocksError, match=r"^the graph breaks$"):
        each.grown(broken, 8)


def _broken() -> Trace:
    class Printing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            print("here")
            return x.relu().tanh()

    traced = trace(Printing(), (torch.ones(2, 8),))
    assert traced.breaks
    return traced


def test_paths_of_blocks() -> None:
    few = tower(4)
    assert path_of_blocks(few) == "layers"
    assert block_count(few, "layers") == 4
    assert renumbered("net.layers.3.norm", "layers", 7) == "net.layers.10.norm"
    assert renumbered("layers.3", "layers", 1) == "layers.4"
    assert renumbered("mylayers.3", "layers", 1) == "mylayers.3"
    assert renumbered("layers.3", "layers", 0) == "layers.3"
