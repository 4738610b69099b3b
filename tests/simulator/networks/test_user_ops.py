"""Ops of the user's own in a network's file, which is read more than once in a process."""

from __future__ import annotations

from pathlib import Path

import torch

from simulator.networks.loading import load

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


def test_a_library_of_ops_is_defined_anew(tmp_path: Path) -> None:
    path = tmp_path / "nets.py"
    for factor in (2, 3):
        path.write_text(FILE.replace("FACTOR", str(factor)))
        found = load(f"{path}:Net")
        assert found.module(torch.ones(1)).item() == factor
