"""Pooling and resizing of images, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch.nn.functional as F
from torch import Tensor

from calibration.blind.draws import blind, laid, size
from calibration.sweeps.operands import backward
from calibration.sweeps.registry import Call, Params
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, whole

POOLS: dict[str, Callable[[Tensor], Tensor]] = {
    "max 2": lambda x: F.max_pool2d(x, 2),
    "max 3, stride 2": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max 5, stride 1": lambda x: F.max_pool2d(x, 5, 1, 2),
    "mean 2": lambda x: F.avg_pool2d(x, 2),
    "mean 3, stride 1": lambda x: F.avg_pool2d(x, 3, 1, 1),
    "to 1": lambda x: F.adaptive_avg_pool2d(x, 1),
    "to 7": lambda x: F.adaptive_avg_pool2d(x, 7),
}
RESIZED: dict[str, Callable[[Tensor], Tensor]] = {
    "nearest, doubled": lambda x: F.interpolate(x, scale_factor=2.0),
    "bilinear, doubled": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "bilinear, to 97": lambda x: F.interpolate(x, (97, 97), mode="bilinear", align_corners=True),
    "bicubic, to 64": lambda x: F.interpolate(x, (64, 64), mode="bicubic"),
    "nearest, halved": lambda x: F.interpolate(x, scale_factor=0.5),
}
FUNCTIONS = POOLS | RESIZED


def _drawing(names: list[str]) -> Callable[[Random], Params | None]:
    def draw(rng: Random) -> Params | None:
        kind, channels = dtype(rng), size(rng, 1, 1024)
        batch, height, width = whole(rng, 1, 128), whole(rng, 8, 192), whole(rng, 8, 192)
        if batch * channels * max(height * width, 97**2) * ITEM_BYTES[kind] > LARGEST_BYTES / 4:
            return None
        return {
            "name": rng.choice(names),
            "dtype": kind,
            "sizes": [batch, channels, height, width],
            "layout": rng.choice(["contiguous", "channels_last"]),
        }

    return draw


@blind(28, _drawing(list(FUNCTIONS)))
def blind_picture(name: str, dtype: str, sizes: list[int], layout: str) -> Call:
    """Pool or resize [batch, channels, height, width]."""
    x, function = laid(sizes, dtype, layout), FUNCTIONS[name]
    return lambda: function(x)


@blind(14, _drawing(list(FUNCTIONS)))
def blind_picture_backward(name: str, dtype: str, sizes: list[int], layout: str) -> Call:
    """The gradient of the image."""
    x = laid(sizes, dtype, layout, grad=True)
    return backward(FUNCTIONS[name](x), [x])
