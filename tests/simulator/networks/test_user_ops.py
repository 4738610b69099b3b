"""A user's own ops in a network's file, which a process reads more than once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from simulator.networks.loading.load import load

FILE = """
import torch
from torch import nn
ours = torch.library.Library("ridgepoint_test", "DEF")
ours.define("times(Tensor x) -> Tensor")
@torch.library.impl(ours, "times", "CompositeExplicitAutograd")
def times(x):
    return x * FACTOR
class Net(nn.Module):
    def example_inputs(self, batch, seq):
        return (torch.randn(batch, 4),)
    def forward(self, x):
        return torch.ops.ridgepoint_test.times(x)
"""


def test_a_library_of_ops_is_defined_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sources of equal size, written within one second, while Python caches bytecode."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "nets.py"
    for factor in (2, 3):
        path.write_text(FILE.replace("FACTOR", str(factor)))
        network = load(f"{path}:Net")
        assert network.module(torch.ones(1)).item() == factor
    assert list(tmp_path.iterdir()) == [path]
