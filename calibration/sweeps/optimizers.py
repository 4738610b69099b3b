"""Optimizers over the weights of a network: many tensors in one call."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
from torch import Tensor

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, pick, sweep, whole, width

_MOST_BYTES = 2**30  # maximum bytes of all weights
Shapes = list[tuple[int, ...]]


def _transformer(d: int, layers: int) -> Shapes:
    layer: Shapes = [
        (3 * d, d),
        (3 * d,),
        (d, d),
        (d,),
        (4 * d, d),
        (4 * d,),
        (d, 4 * d),
        (d,),
        (d,),
        (d,),
        (d,),
        (d,),
    ]
    return [(8 * d, d), *layer * layers]


def _gated(d: int, layers: int) -> Shapes:
    layer: Shapes = [
        (d, d),
        (d // 4, d),
        (d // 4, d),
        (d, d),
        (3 * d, d),
        (3 * d, d),
        (d, 3 * d),
        (d,),
        (d,),
    ]
    return [(16 * d, d), *layer * layers]


def _convnet(d: int, layers: int) -> Shapes:
    block: Shapes = [
        (d // 4, d, 1, 1),
        (d // 4,),
        (d // 4,),
        (d // 4, d // 4, 3, 3),
        (d // 4,),
        (d // 4,),
        (d, d // 4, 1, 1),
        (d,),
        (d,),
    ]
    return [(64, 3, 7, 7), *block * layers, (1000, d)]


NETWORKS: dict[str, Callable[[int, int], Shapes]] = {
    "transformer": _transformer,
    "gated": _gated,
    "convnet": _convnet,
    "mlp": lambda d, layers: [(d, d), (d,)] * layers,
}
OPTIMIZERS: dict[str, Callable[[list[Tensor]], Any]] = {
    "adamw_foreach": lambda ws: torch.optim.AdamW(ws, lr=1e-5, foreach=True),
    "adamw_fused": lambda ws: torch.optim.AdamW(ws, lr=1e-5, fused=True),
    "adam_fused": lambda ws: torch.optim.Adam(ws, lr=1e-5, fused=True),
    "sgd_foreach": lambda ws: torch.optim.SGD(ws, lr=1e-6, momentum=0.9, foreach=True),
    "sgd_plain": lambda ws: torch.optim.SGD(ws, lr=1e-6, foreach=True),
}


def _network(rng: Random) -> Params | None:
    kind = pick(rng, {"fp32": 3.0, "bf16": 2.0})
    network, d, layers = rng.choice(list(NETWORKS)), width(rng, 32, 4096), whole(rng, 1, 48)
    total = sum(torch.Size(shape).numel() for shape in NETWORKS[network](d, layers))
    if total > _MOST_BYTES // ITEM_BYTES[kind]:
        return None
    return {"dtype": kind, "network": network, "d": d, "layers": layers}


def _stepped(rng: Random) -> Params | None:
    point = _network(rng)
    return point and {"name": rng.choice(list(OPTIMIZERS)), **point}


def _weights(network: str, d: int, layers: int, dtype: str) -> list[Tensor]:
    weights: list[Tensor] = []
    for shape in NETWORKS[network](d, layers):
        weight = random(*shape, dtype=dtype, grad=True)
        weight.grad = random(*shape, dtype=dtype)
        weights.append(weight)
    return weights


@operation(sweep("optimizer_step", 180, _stepped))
def optimizer_step(name: str, dtype: str, network: str, d: int, layers: int) -> Call:
    """One step, with its state allocated, over all weights of a network of width `d`."""
    optimizer = OPTIMIZERS[name](_weights(network, d, layers, dtype))
    with torch.device("cpu"):  # the step count is on the CPU, except for fused optimizers
        optimizer.step()
    return optimizer.step


@operation(sweep("gradient_norm", 30, _network))
def gradient_norm(dtype: str, network: str, d: int, layers: int) -> Call:
    """Gradients clipped to a common norm of 1."""
    gradients = [weight.detach() for weight in _weights(network, d, layers, dtype)]

    def clipped() -> object:  # as clip_grad_norm_ does, which differs on meta tensors
        norms = torch.ops.aten._foreach_norm(gradients)
        total = torch.linalg.vector_norm(torch.stack(norms))
        factor = torch.clamp(1.0 / (total + 1e-6), max=1.0)
        return torch.ops.aten._foreach_mul_.Tensor(gradients, factor)

    return clipped


@operation(sweep("foreach_add", 30, _network))
def foreach_add(dtype: str, network: str, d: int, layers: int) -> Call:
    """Move every weight a little towards its gradient, as for an average of weights."""
    weights = _weights(network, d, layers, dtype)
    moved = [weight.detach() for weight in weights]
    gradients = [weight.grad for weight in weights]
    return lambda: torch.ops.aten._foreach_add_(moved, gradients, alpha=-1e-6)
