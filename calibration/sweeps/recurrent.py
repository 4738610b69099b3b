"""Recurrent layers through cuDNN, forward and backward."""

from __future__ import annotations

from random import Random

import torch
from torch import Tensor, nn

from calibration.sweeps.operands import DTYPES, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import pick, sweep, tokens, whole, width

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU] | type[nn.RNN]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn": nn.RNN,
}
_GATED = ("lstm", "gru")


def _layers(rng: Random) -> Params:
    return {
        "cell": rng.choice(_GATED),
        "dtype": pick(rng, {"fp32": 2.0, "fp16": 1.0}),
        "batch": whole(rng, 1, 128),
        "steps": tokens(rng, 8, 256),
        "features": width(rng, 32, 1024),
        "hidden": width(rng, 32, 1024),
        "layers": rng.choice([1, 1, 2, 3]),
        "both_ways": rng.random() < 0.25,
    }


def _layer(
    cell: str,
    dtype: str,
    batch: int,
    steps: int,
    features: int,
    hidden: int,
    layers: int,
    both_ways: bool,
) -> tuple[nn.LSTM | nn.GRU | nn.RNN, Tensor, Tensor]:
    module = CELLS[cell](
        features, hidden, layers, batch_first=True, bidirectional=both_ways, dtype=DTYPES[dtype]
    )
    x = random(batch, steps, features, dtype=dtype)
    return module, x, random(layers * (1 + both_ways), batch, hidden, dtype=dtype)


@operation(sweep("recurrent", 150, _layers))
def recurrent(
    cell: str,
    dtype: str,
    batch: int,
    steps: int,
    features: int,
    hidden: int,
    layers: int,
    both_ways: bool,
) -> Call:
    """A recurrent layer from [batch, steps, features] to [batch, steps, hidden], in inference."""
    module, x, state = _layer(cell, dtype, batch, steps, features, hidden, layers, both_ways)
    module.eval().requires_grad_(False)
    start = (state, state) if cell == "lstm" else state
    return lambda: module(x, start)


@operation(sweep("recurrent_backward", 150, _layers))
def recurrent_backward(
    cell: str,
    dtype: str,
    batch: int,
    steps: int,
    features: int,
    hidden: int,
    layers: int,
    both_ways: bool,
) -> Call:
    """Gradients of the input and of every weight."""
    module, x, state = _layer(cell, dtype, batch, steps, features, hidden, layers, both_ways)
    module.train()
    x.requires_grad_()
    y, _ = module(x, (state, state) if cell == "lstm" else state)
    leaves, gy = [x, *module.parameters()], torch.randn_like(y)
    return lambda: torch.autograd.grad(y, leaves, gy, retain_graph=True)
