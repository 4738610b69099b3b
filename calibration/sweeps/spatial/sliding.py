"""Windows over images and sequences of the sizes that networks have: unfolded, folded, averaged,
and mirrored at the edges."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.operands import backward, channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import sweep

_BATCHES = (1, 2, 4, 8, 16, 32, 64)
_CHANNELS = (1, 3, 16, 32, 64, 64, 96, 128, 256, 512)
_SIDES = (4, 7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 224)
_LENGTHS = (96, 336, 512, 1000, 2048, 8192, 16000)
_MOST_ELEMENTS = 3e7
Slide = Callable[[Tensor, int, int], Tensor]


def _unfold(x: Tensor, taps: int, stride: int) -> Tensor:
    return F.unfold(x, taps, padding=(taps - 1) // 2, stride=stride)


def _edges(x: Tensor, taps: int, mode: str) -> Tensor:
    return F.pad(x, [taps // 2] * (2 * (x.dim() - 2)), mode)


_SLIDES: dict[str, Slide] = {
    "unfold": _unfold,
    "reflect": lambda x, taps, _: _edges(x, taps, "reflect"),
    "replicate": lambda x, taps, _: _edges(x, taps, "replicate"),
    "circular": lambda x, taps, _: _edges(x, taps, "circular"),
    "average": lambda x, taps, stride: F.avg_pool2d(x, taps, stride, taps // 2),
    "largest": lambda x, taps, stride: F.max_pool2d(x, taps, stride, taps // 2),
    "average over time": lambda x, taps, stride: F.avg_pool1d(x, taps, stride, taps // 2),
    "largest over time": lambda x, taps, stride: F.max_pool1d(x, taps, stride, taps // 2),
    "adaptive": lambda x, taps, _: F.adaptive_avg_pool2d(x, taps),
    "adaptive largest": lambda x, taps, _: F.adaptive_max_pool2d(x, taps),
    "adaptive over time": lambda x, taps, _: F.adaptive_avg_pool1d(x, taps),
}


def _drawn(rng: Random) -> Params | None:
    name = rng.choice(("unfold", *_SLIDES))
    edges = name in ("reflect", "replicate", "circular")
    timed = "time" in name or (edges and rng.random() < 0.4)
    sides = [rng.choice(_LENGTHS)] if timed else [rng.choice(_SIDES)] * 2
    taps = rng.choice((2, 3, 3, 4, 5, 7, 8, 16, 25) if timed else (2, 3, 3, 4, 5, 7, 8, 16))
    stride = rng.choice((1, 2, taps))
    if "adaptive" in name:
        taps, stride = rng.choice((1, 2, 3, 4, 5, 6, 7, 14)), 1
    if taps > min(sides) // (2 if edges else 1):
        return None
    sizes = [rng.choice(_BATCHES), rng.choice(_CHANNELS), *sides]
    elements = sizes[0] * sizes[1] * sides[0] ** len(sides)
    columns = elements * taps**2 // stride**2 if name == "unfold" else elements
    if max(elements, columns) > _MOST_ELEMENTS:
        return None
    last = len(sides) == 2 and name != "unfold" and rng.random() < 0.25
    return {
        "name": name, "dtype": rng.choice(("fp32", "fp32", "fp16", "bf16")), "last": last,
        "sizes": sizes, "taps": taps, "stride": stride,
    }  # fmt: skip


def _operand(dtype: str, last: bool, sizes: list[int], grad: bool) -> Tensor:
    x = random(*sizes, dtype=dtype, grad=grad)
    return channels_last(x, grad) if last else x


@operation(sweep("sliding", 900, _drawn))
def sliding(name: str, dtype: str, last: bool, sizes: list[int], taps: int, stride: int) -> Call:
    """Windows of `taps` per side over [batch, channels, *sides], or `taps` windows if adaptive."""
    x = _operand(dtype, last, sizes, False)
    return lambda: _SLIDES[name](x, taps, stride)


@operation(sweep("sliding_backward", 700, _drawn))
def sliding_backward(
    name: str, dtype: str, last: bool, sizes: list[int], taps: int, stride: int
) -> Call:
    """The gradient of the images."""
    x = _operand(dtype, last, sizes, True)
    return backward(_SLIDES[name](x, taps, stride), [x])
