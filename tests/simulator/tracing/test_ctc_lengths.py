"""The CTC loss with lengths in tensors, on the CPU and on the GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.hardware.waits import syncs
from simulator.tracing import trace

STEPS, BATCH, LABELS, CLASSES = 50, 4, 10, 32


class Speech(nn.Module):
    """One layer and the loss; `columns` is false for targets that are written one after another."""

    def __init__(self, columns: bool) -> None:
        super().__init__()
        self.layer, self.columns = nn.Linear(16, CLASSES), columns

    def forward(self, x: Tensor, targets: Tensor, times: Tensor, labels: Tensor) -> Any:
        scores = F.log_softmax(self.layer(x), -1).transpose(0, 1)
        return F.ctc_loss(scores, targets if self.columns else targets.flatten(), times, labels)


class ListedSpeech(Speech):
    """The lengths are made in `forward`, on the CPU, as in most code for speech."""

    def forward(self, x: Tensor, targets: Tensor, *_: Tensor) -> Any:
        times, labels = torch.full((BATCH,), STEPS), torch.full((BATCH,), LABELS)
        return super().forward(x, targets, times, labels)


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize(("network", "copies"), [(ListedSpeech, 0), (Speech, 4)])
def test_the_host_reads_the_lengths(network: type[Speech], copies: int, columns: bool) -> None:
    inputs = (
        torch.randn(BATCH, STEPS, 16),
        torch.randint(1, CLASSES, (BATCH, LABELS)),
        torch.full((BATCH,), STEPS),
        torch.full((BATCH,), LABELS),
    )
    step = trace(network(columns), inputs, phase="training", optimizer=None)
    names = [op.name for op in step.ops]
    (loss,) = (op for op in step.ops if op.name == "aten._ctc_loss.default")
    assert loss.signature.arg("input_lengths") == [STEPS] * BATCH
    assert loss.signature.arg("target_lengths") == [LABELS] * BATCH
    assert loss.signature.outputs[1].shape == (BATCH, STEPS, 2 * LABELS + 1)
    waits = [op.name for op in step.ops[: names.index(loss.name)] if syncs(op.signature)]
    assert waits == ["aten._to_copy.default"] * copies
    assert "aten._ctc_loss_backward.default" in names
