"""Steps of optimizers over weights of random shapes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

import torch
from torch import Tensor

from calibration.blind.draws import blind, size
from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import pick, whole

_MOST_NUMBERS = 1e8
OPTIMIZERS: dict[str, Callable[[list[Tensor]], Any]] = {
    "adamw": lambda ws: torch.optim.AdamW(ws, lr=1e-5, foreach=True),
    "adamw_fused": lambda ws: torch.optim.AdamW(ws, lr=1e-5, fused=True),
    "adam": lambda ws: torch.optim.Adam(ws, lr=1e-5, foreach=True),
    "sgd_momentum": lambda ws: torch.optim.SGD(ws, lr=1e-6, momentum=0.9, foreach=True),
    "sgd_fused": lambda ws: torch.optim.SGD(ws, lr=1e-6, momentum=0.9, fused=True),
    "rmsprop": lambda ws: torch.optim.RMSprop(ws, lr=1e-6, foreach=True),
    "adagrad": lambda ws: torch.optim.Adagrad(ws, lr=1e-6, foreach=True),
}


def _weights(rng: Random) -> Params:
    return {
        "name": rng.choice(list(OPTIMIZERS)),
        "dtype": pick(rng, {"fp32": 3.0, "bf16": 2.0}),
        "count": whole(rng, 1, 120),
        "widest": whole(rng, 64, 8192),
        "seed": rng.randrange(10**6),
    }


@blind(20, _weights)
def blind_optimizer_step(name: str, dtype: str, count: int, widest: int, seed: int) -> Call:
    """An optimizer's step, with its state allocated, over `count` weights of one or two
    dimensions."""
    rng = Random(seed)
    weights: list[Tensor] = []
    while len(weights) < count:
        sizes = [size(rng, 1, widest) for _ in range(rng.choice([1, 1, 2, 2]))]
        if prod(sizes) > _MOST_NUMBERS / count:
            continue
        weight = random(*sizes, dtype=dtype, grad=True)
        weight.grad = random(*sizes, dtype=dtype)
        weights.append(weight)
    with torch.device("cpu"):  # the step count is on the CPU, except for fused optimizers
        optimizer = OPTIMIZERS[name](weights)
        optimizer.step()
    return optimizer.step
