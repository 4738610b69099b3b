"""Recurrent layers as ATen passes them to cuDNN, by dtype and under autocast."""

from __future__ import annotations

from collections import Counter

import torch

from simulator import trace
from simulator.records import Op

BATCH, STEPS, INPUTS, HIDDEN = 64, 32, 192, 48


class Tagger(torch.nn.Module):
    """A bidirectional LSTM, under autocast if `autocast`."""

    def __init__(self, autocast: bool = False) -> None:
        super().__init__()
        self.layer = torch.nn.LSTM(INPUTS, HIDDEN, bidirectional=True, batch_first=True)
        self.autocast = autocast

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16, enabled=self.autocast):
            return self.layer(x)[0]


def ops(dtype: torch.dtype, autocast: bool = False) -> list[Op]:
    x = torch.empty(BATCH, STEPS, INPUTS, dtype=dtype)
    return list(trace(Tagger(autocast).to(dtype), (x,)).ops)


def call(ops: list[Op]) -> Op:
    return next(op for op in ops if op.name == "aten._cudnn_rnn.default")


def test_weights_are_views_of_a_buffer_but_not_in_bfloat16() -> None:
    for dtype in (torch.float32, torch.float16):
        assert "weight_buf" in call(ops(dtype)).signature.names
    assert "weight_buf" not in call(ops(torch.bfloat16)).signature.names


def test_autocast_casts_to_float16_whatever_its_own_dtype() -> None:
    """Recorded on an H100 under bfloat16: 11 casts to float16 of 8 weights, the input and two
    states, after a fill of the weights' buffer, for each call."""
    traced = ops(torch.float32, autocast=True)
    layer = call(traced).signature
    assert {t.dtype for t in layer.inputs} == {"float16"}
    before = traced[: traced.index(call(traced))]
    assert Counter(op.name for op in before)["aten._to_copy.default"] == 11
    weights = 2 * (4 * HIDDEN * (INPUTS + HIDDEN) + 2 * 4 * HIDDEN)
    assert (weights,) in [t.shape for op in before for t in op.signature.outputs]
