"""Grouped convolutions with different numbers of input and output channels per group, as in
FastViT, EdgeNeXt and GhostNet, which widen depthwise stages."""

from __future__ import annotations

from random import Random
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, sweep, whole

_THIN = (1, 1, 1, 1, 2, 2, 4, 8)
"""Channels of the thinner side of a group."""
_GROUPS = (2, 8, 16, 24, 48, 64, 96, 128, 192)
_KERNELS = {"1": 0.5, "3": 6.0, "5": 1.0, "7": 3.0}


def _layer(rng: Random) -> Params | None:
    kind, thin, groups = dtype(rng), rng.choice(_THIN), rng.choice(_GROUPS)
    wide = thin * rng.choice((2, 2, 2, 3, 4))
    into, out = (thin, wide) if rng.random() < 0.75 else (wide, thin)
    batch, side = whole(rng, 1, 64), whole(rng, 7, 64)
    if batch * wide * groups * side**2 * ITEM_BYTES[kind] > LARGEST_BYTES / 4:
        return None
    return {
        "dtype": kind,
        "last": rng.random() < 0.7,
        "batch": batch,
        "into": into,
        "out": out,
        "groups": groups,
        "side": side,
        "kernel": int(pick(rng, _KERNELS)),
        "stride": rng.choice((1, 2)),
    }


def _layer_call(params: dict[str, Any], grad: bool) -> tuple[Tensor, Tensor, dict[str, int]]:
    kind, groups, side, kernel = (params[n] for n in ("dtype", "groups", "side", "kernel"))
    x = random(params["batch"], params["into"] * groups, side, side, dtype=kind, grad=grad)
    w = random(params["out"] * groups, params["into"], kernel, kernel, dtype=kind, grad=grad)
    if params["last"]:
        x, w = channels_last(x, grad), channels_last(w, grad)
    options = {"stride": params["stride"], "padding": kernel // 2, "groups": groups}
    return x, w, options


@operation(sweep("uneven_groups", 60, _layer))
def uneven_groups(**params: Any) -> Call:
    """Images [batch, into · groups, side, side] by weights [out · groups, into, k, k]."""
    x, w, options = _layer_call(params, False)
    return lambda: F.conv2d(x, w, None, **options)


@operation(sweep("uneven_groups_backward", 50, _layer))
def uneven_groups_backward(**params: Any) -> Call:
    """The gradients of images and weights."""
    x, w, options = _layer_call(params, True)
    return backward(F.conv2d(x, w, None, **options), [x, w])
