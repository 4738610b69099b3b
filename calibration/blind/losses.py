"""Losses, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from calibration.blind.draws import blind, size
from calibration.sweeps.operands import backward, indices, random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype

LOSSES: dict[str, Callable[[Any, Any, Any], Tensor]] = {
    "cross entropy": lambda x, classes, _: F.cross_entropy(x, classes),
    "mean square": lambda x, _, y: F.mse_loss(x, y),
    "smooth l1": lambda x, _, y: F.smooth_l1_loss(x, y),
    "binary": lambda x, _, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
}


def _loss(rng: Random) -> Params | None:
    kind, rows, classes = dtype(rng), size(rng, 1, 65536), size(rng, 2, 130_000)
    if rows * classes * ITEM_BYTES[kind] > LARGEST_BYTES / 2:
        return None
    return {"name": rng.choice(list(LOSSES)), "dtype": kind, "rows": rows, "classes": classes}


def _operands(dtype: str, rows: int, classes: int, grad: bool) -> tuple[Tensor, Tensor, Tensor]:
    x = random(rows, classes, dtype=dtype, grad=grad)
    return x, indices(rows, below=classes), random(rows, classes, dtype=dtype)


@blind(12, _loss)
def blind_loss(name: str, dtype: str, rows: int, classes: int) -> Call:
    """The mean loss over all rows."""
    operands, function = _operands(dtype, rows, classes, False), LOSSES[name]
    return lambda: function(*operands)


@blind(10, _loss)
def blind_loss_backward(name: str, dtype: str, rows: int, classes: int) -> Call:
    """The gradient of the scores."""
    operands = _operands(dtype, rows, classes, True)
    return backward(LOSSES[name](*operands), operands[:1])
