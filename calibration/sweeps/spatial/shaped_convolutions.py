"""Convolutions with the kernels of particular networks: one side of 1 (Inception), dilated
(DeepLab), patches without overlap (ViT), over frames (video), and upsampling by two (U-Net,
GANs)."""

from __future__ import annotations

from random import Random
from typing import Any

import torch.nn.functional as F

from calibration.sweeps.operands import channels_last, random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import ITEM_BYTES, LARGEST_BYTES, dtype, pick, sweep, whole

_FORMS = {"line": 2.0, "dilated": 2.0, "patches": 1.0, "frames": 3.0, "up": 2.0}
_MOST_FLOPS = {"fp32": 5e10, "bf16": 3e11, "fp16": 3e11}


def _layer(rng: Random) -> Params | None:
    kind, form = dtype(rng), pick(rng, _FORMS)
    inward, outward = (8 * whole(rng, 2, 96) for _ in range(2))
    if rng.random() < 0.5:
        outward = inward
    stride, dilation, padding = [1, 1], 1, [0, 0]
    batch, side = whole(rng, 1, 64), whole(rng, 7, 128)
    sides = [side, side]
    if form == "line":
        long = rng.choice((3, 5, 7))
        kernel = [1, long] if rng.random() < 0.5 else [long, 1]
        padding = [k // 2 for k in kernel]
    elif form == "dilated":
        kernel, dilation = [3, 3], rng.choice((2, 4, 6, 12, 18, 24))
        padding = [dilation, dilation]
    elif form == "patches":
        patch = rng.choice((2, 4, 8, 14, 16, 32))
        kernel = stride = [patch, patch]
        sides = [patch * whole(rng, 4, 32)] * 2
        inward = 3 if patch > 2 else inward
    elif form == "frames":
        kernel = rng.choice(([3, 3, 3], [1, 3, 3], [3, 1, 1], [1, 1, 1], [2, 2, 2]))
        sides = [whole(rng, 4, 32), side, side]
        stride = kernel if kernel == [2, 2, 2] else rng.choice(([1, 1, 1], [1, 1, 1], [1, 2, 2]))
        padding = [0] * 3 if kernel == [2, 2, 2] else [k // 2 for k in kernel]
        batch = whole(rng, 1, 8)
    else:
        size = rng.choice((2, 4))
        kernel, stride, padding = [size] * 2, [2, 2], [size // 2 - 1] * 2
    elements = batch
    for each in sides:
        elements *= each
    taps = 1
    for k, s in zip(kernel, stride, strict=True):
        taps *= k if form == "up" else k / s
    flops = 2 * elements * inward * outward * taps
    grown = 4 if form == "up" else 1
    largest = elements * max(inward, grown * outward) * ITEM_BYTES[kind]
    if flops > _MOST_FLOPS[kind] or largest > LARGEST_BYTES / 4:
        return None
    return {
        "form": form,
        "dtype": kind,
        "last": rng.random() < 0.4,
        "sizes": [batch, inward, *sides],
        "outward": outward,
        "kernel": kernel,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
    }


@operation(sweep("shaped_convolution", 60, _layer))
def shaped_convolution(**params: Any) -> Call:
    """Convolve [batch, channels, sides…] to `outward` channels."""
    kind, sizes, outward = params["dtype"], params["sizes"], params["outward"]
    up = params["form"] == "up"
    channels = (sizes[1], outward) if up else (outward, sizes[1])
    x = random(*sizes, dtype=kind)
    w = random(*channels, *params["kernel"], dtype=kind)
    if params["last"]:
        x, w = channels_last(x), channels_last(w)
    convolve = {4: F.conv_transpose2d if up else F.conv2d, 5: F.conv3d}[x.dim()]
    options = {name: params[name] for name in ("stride", "padding", "dilation")}
    return lambda: convolve(x, w, None, **options)
