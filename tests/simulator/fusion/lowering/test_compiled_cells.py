"""The fused cells of recurrent layers in a compiled step."""

import pytest
import torch
from torch import nn

from simulator import trace
from simulator.fusion import fused
from simulator.hardware.gpu import gpu


@pytest.mark.parametrize("kind", [nn.GRUCell, nn.LSTMCell])
def test_a_fused_cell_stays_a_library_call(kind: type[nn.GRUCell] | type[nn.LSTMCell]) -> None:
    """Inductor has no lowering for a fused cell or its gradient, so it calls torch's kernels."""
    state = torch.zeros(16, 32)
    args = (torch.zeros(16, 32), state if kind is nn.GRUCell else (state, state))
    step = trace(kind(32, 32), args, gpu="h200", phase="training", optimizer=None)
    cells = [op.name for op in step.ops if "_thnn_fused" in op.name]
    compiled = fused(step, gpu("h200")).trace
    assert len(cells) == 2
    assert [op.name for op in compiled.ops if "_thnn_fused" in op.name] == cells
