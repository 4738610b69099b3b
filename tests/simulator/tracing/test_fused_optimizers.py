"""Fused optimizers for which torch has no shape rule."""

from __future__ import annotations

import pytest
import torch

from simulator.tracing import trace_call


@pytest.mark.parametrize(("momentum", "lists"), [(0.0, 2), (0.9, 3)])
def test_fused_sgd_is_one_op(momentum: float, lists: int) -> None:
    def make():
        weights = [torch.randn(8, 8, requires_grad=True), torch.randn(8, requires_grad=True)]
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        optimizer = torch.optim.SGD(weights, lr=1e-3, momentum=momentum, fused=True)
        optimizer.step()  # the buffers of momentum exist from then on
        return optimizer.step

    (op,) = trace_call(make).ops
    assert op.name == "aten._fused_sgd_.default"
    assert len(op.inputs) == 2 * lists
