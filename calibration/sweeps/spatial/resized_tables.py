"""Interpolation of position embeddings and feature maps, as vision transformers resize them: many
channels, sides of 4 to 160, channels innermost or outermost."""

from __future__ import annotations

from functools import partial
from random import Random

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import dtype, pick, sweep, whole, width

_MODES = {"bicubic": 4.0, "bilinear": 2.0, "bicubic antialiased": 1.0, "bilinear antialiased": 1.0}
_CHANNELS = (96, 192, 384, 768, 1024, 1280)
_MOST_PLANES = 16_384
_MOST_ELEMENTS = 2**26


def _resized(rng: Random) -> Params | None:
    channels = rng.choice(_CHANNELS) if rng.random() < 0.6 else width(rng, 2, 1536, 8)
    batch = rng.choice((1, 1, 1, 2, 4, 12))
    small = [whole(rng, 4, 160) for _ in range(4)]
    if rng.random() < 0.6:  # squares, as position tables are
        small[1], small[3] = small[0], small[2]
    planes = batch * channels
    if planes > _MOST_PLANES or planes * max(small[0] * small[1], small[2] * small[3]) > (
        _MOST_ELEMENTS
    ):
        return None
    return {
        "mode": pick(rng, _MODES),
        "dtype": dtype(rng),
        "innermost": rng.random() < 0.7,
        "sizes": [batch, channels, *small[:2]],
        "side": small[2:],
    }


def _operands(dtype: str, innermost: bool, sizes: list[int], grad: bool = False) -> Tensor:
    batch, channels, height, wide = sizes
    if not innermost:
        return random(*sizes, dtype=dtype, grad=grad)
    return random(batch, height, wide, channels, dtype=dtype, grad=grad).permute(0, 3, 1, 2)


@operation(sweep("resized_table", 100, _resized))
def resized_table(
    mode: str, dtype: str, innermost: bool, sizes: list[int], side: list[int]
) -> Call:
    """Resize [batch, channels, height, width] to `side`."""
    x = _operands(dtype, innermost, sizes)
    kind, _, smooth = mode.partition(" ")
    return partial(F.interpolate, x, side, mode=kind, antialias=bool(smooth))


@operation(sweep("resized_table_backward", 40, _resized))
def resized_table_backward(
    mode: str, dtype: str, innermost: bool, sizes: list[int], side: list[int]
) -> Call:
    """The gradient of the table."""
    x = _operands(dtype, innermost, sizes, grad=True)
    kind, _, smooth = mode.partition(" ")
    return backward(F.interpolate(x, side, mode=kind, antialias=bool(smooth)), [x])
