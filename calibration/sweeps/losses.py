"""Losses, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import backward, indices, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import elements, matrix, pick, sweep


def _logits(rng: Random) -> Params:
    kind = pick(rng, {"fp32": 3.0, "bf16": 2.0, "fp16": 1.0})
    rows, cols = matrix(rng, kind, 10, 160000, 2**28)
    return {"dtype": kind, "rows": rows, "cols": cols}


@operation(sweep("cross_entropy", 110, _logits))
def cross_entropy(dtype: str, rows: int, cols: int) -> Call:
    """Mean loss of logits [rows, cols] against classes [rows]."""
    x, classes = random(rows, cols, dtype=dtype), indices(rows, below=cols)
    return lambda: F.cross_entropy(x, classes)


@operation(sweep("cross_entropy_backward", 110, _logits))
def cross_entropy_backward(dtype: str, rows: int, cols: int) -> Call:
    """The gradient of the logits."""
    x, classes = random(rows, cols, dtype=dtype, grad=True), indices(rows, below=cols)
    return backward(F.cross_entropy(x, classes), [x])


LOSSES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "squares": F.mse_loss,
    "absolutes": F.l1_loss,
    "huber": F.smooth_l1_loss,
    "logistic": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
}


def _pair(rng: Random) -> Params:
    kind = pick(rng, {"fp32": 2.0, "bf16": 1.0})
    return {
        "name": rng.choice(list(LOSSES)),
        "dtype": kind,
        "elements": elements(rng, kind, 1000, 2**28),
    }


@operation(sweep("elementwise_loss", 42, _pair))
def elementwise_loss(name: str, dtype: str, elements: int) -> Call:
    """The mean loss of two tensors of one shape."""
    x, y = random(elements, dtype=dtype), random(elements, dtype=dtype)
    return lambda: LOSSES[name](x, y)


@operation(sweep("elementwise_loss_backward", 30, _pair))
def elementwise_loss_backward(name: str, dtype: str, elements: int) -> Call:
    """The gradient of the first tensor."""
    x, y = random(elements, dtype=dtype, grad=True), random(elements, dtype=dtype)
    return backward(LOSSES[name](x, y), [x])
