"""Pooling and interpolation of images, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
import torch.nn.functional as F

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, dtype, sweep, whole, width

Change = Callable[[torch.Tensor], torch.Tensor]
POOLS: dict[str, Change] = {
    "max3": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max2": lambda x: F.max_pool2d(x, 2),
    "avg2": lambda x: F.avg_pool2d(x, 2),
    "avg3": lambda x: F.avg_pool2d(x, 3, 1, 1),
    "adaptive1": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive7": lambda x: F.adaptive_avg_pool2d(x, 7),
}
RESIZES: dict[str, Change] = {
    "nearest": lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest"),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "half": lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear"),
}


def _pictures(names: dict[str, Change], most_bytes: int) -> Callable[[Random], Params | None]:
    def draw(rng: Random) -> Params | None:
        kind = dtype(rng)
        batch, channels, side = whole(rng, 1, 256), width(rng, 3, 1024, 32), whole(rng, 7, 224)
        if batch * channels * side**2 > most_bytes // ITEM_BYTES[kind]:
            return None
        return {
            "name": rng.choice(list(names)),
            "dtype": kind,
            "last": rng.random() < 0.4,
            "batch": batch,
            "channels": channels,
            "side": side,
        }

    return draw


def _picture(
    dtype: str, last: bool, batch: int, channels: int, side: int, grad: bool
) -> torch.Tensor:
    x = random(batch, channels, side, side, dtype=dtype, grad=grad)
    return channels_last(x, grad) if last else x


@operation(sweep("pool", 150, _pictures(POOLS, 2**29)))
def pool(name: str, dtype: str, last: bool, batch: int, channels: int, side: int) -> Call:
    """Pool [batch, channels, side, side] by windows of 2 or 3, or to an output side of 1 or 7."""
    x = _picture(dtype, last, batch, channels, side, False)
    return lambda: POOLS[name](x)


@operation(sweep("pool_backward", 150, _pictures(POOLS, 2**28)))
def pool_backward(name: str, dtype: str, last: bool, batch: int, channels: int, side: int) -> Call:
    """The gradient of pooling's input."""
    x = _picture(dtype, last, batch, channels, side, True)
    return backward(POOLS[name](x), [x])


@operation(sweep("resize", 140, _pictures(RESIZES, 2**27)))
def resize(name: str, dtype: str, last: bool, batch: int, channels: int, side: int) -> Call:
    """Resize to twice or half the side."""
    x = _picture(dtype, last, batch, channels, side, False)
    return lambda: RESIZES[name](x)


@operation(sweep("resize_backward", 140, _pictures(RESIZES, 2**27)))
def resize_backward(
    name: str, dtype: str, last: bool, batch: int, channels: int, side: int
) -> Call:
    """The gradient of the resized input."""
    x = _picture(dtype, last, batch, channels, side, True)
    return backward(RESIZES[name](x), [x])
