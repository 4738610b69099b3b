"""Interpolations in compiled steps."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import predict_trace
from simulator.tracing import trace


class Resized(nn.Module):
    """Position tables of two layers, resized at once, and added to the tokens."""

    def forward(self, tokens: Tensor, tables: Tensor) -> Tensor:
        resized = F.interpolate(tables, (54, 54), mode="bicubic").flatten(2)
        return (tokens + resized[0]).softmax(-1) + (tokens + resized[1]).softmax(-1)


def test_a_bicubic_interpolation_is_a_generated_kernel_that_writes_its_result() -> None:
    """Its 16 reads are more than Inductor computes again for each reader (config.py,
    `realize_reads_threshold`)."""
    with torch.device("meta"):
        inputs = torch.empty(768, 54 * 54), torch.empty(2, 768, 32, 54)
        step = trace(Resized().eval(), inputs)
    kernels = predict_trace(step, gpu="h200", mode="compiled").kernels
    assert [k.family for k in kernels] == ["generated"] * len(kernels)
    written = [k.write_bytes for k in kernels]
    assert 2 * 768 * 54 * 54 * 4 in written
