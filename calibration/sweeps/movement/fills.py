"""Tensors that are made without an input: constants, ranges, random numbers, and dropout's
masks."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import dtype, elements, sweep

FILLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "zeros": torch.zeros_like,
    "full": lambda x: torch.full_like(x, 0.5),
    "fill_": lambda x: x.fill_(0.5),
    "rand": torch.rand_like,
    "randn": torch.randn_like,
    "uniform_": lambda x: x.uniform_(),
    "bernoulli_": lambda x: x.bernoulli_(0.3),
}


def _filled(rng: Random) -> Params:
    kind = dtype(rng)
    return {"name": rng.choice(list(FILLS)), "dtype": kind, "elements": elements(rng, kind)}


@operation(sweep("fill", 108, _filled))
def fill(name: str, dtype: str, elements: int) -> Call:
    """A constant or random numbers, into a new tensor or in place."""
    x = random(elements, dtype=dtype)
    return lambda: FILLS[name](x)


@operation(sweep("arange", 18, lambda rng: {"elements": elements(rng, "int64", 64, 2**26)}))
def arange(elements: int) -> Call:
    """0, 1, 2, ... as int64."""
    device = torch.empty(()).device
    return lambda: torch.arange(elements, device=device)


def _dropped(rng: Random) -> Params:
    kind = dtype(rng)
    return {"dtype": kind, "elements": elements(rng, kind)}


@operation(sweep("dropout", 54, _dropped))
def dropout(dtype: str, elements: int) -> Call:
    """Dropout of a tenth of the elements, with its mask."""
    x = random(elements, dtype=dtype, grad=True)
    return lambda: F.dropout(x, 0.1, True)


@operation(sweep("dropout_backward", 42, _dropped))
def dropout_backward(dtype: str, elements: int) -> Call:
    """The gradient of dropout's input."""
    x = random(elements, dtype=dtype, grad=True)
    return backward(F.dropout(x, 0.1, True), [x])
