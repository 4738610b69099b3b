"""Convolutions of 1×1 and stride 1 in NCHW: a product for each image, or converted to NHWC."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod

from simulator.costs import Work
from simulator.lowering.implicit_gemm import Product
from simulator.lowering.layouts import memset, nhwc_conversion, sum_parts


def pointwise_convolution(c: Product) -> Iterator[Work]:
    """1×1 of stride 1: W [cout, cin] @ x [cin, h·w] for each image in NCHW.

    An odd h·w prevents vector loads, so large 2-d tensors are converted. The gradient of a weight
    is summed over the images by one more kernel, unless that sum has more elements than a
    conversion.
    """
    d = c.work.dims
    pixels, weights, channels = prod(d["spatial_out"]), d["cin"] * d["cout"], d["cin"] + d["cout"]
    if c.direction == "wgrad":
        if _converts_weights(c, weights, pixels * channels):
            yield from map(nhwc_conversion, c.sources)
            if c.split:
                yield memset(4)
            yield c.kernel()
        else:  # one partial sum per image
            yield from (c.plain(), sum_parts(c.target, d["n"]))
        return
    if c.half:
        least = 1e8 if c.direction == "fwd" else 1.5e9
    else:
        least = 1e9 if c.direction == "fwd" else 4e8
    aligned = (d["cin"] | d["cout"]) % (8 if c.half else 4) == 0
    large = c.adds >= least and weights >= 2**16 and d["dims"] == 2
    odd = pixels % 2 or (c.half and pixels % 8 and c.adds >= 1e10)
    if odd and large and aligned:
        yield from (nhwc_conversion(c.sources[0]), c.kernel(), nhwc_conversion(c.target, back=True))
        return
    if c.half and c.direction == "fwd" and _small_images(c):
        yield c.direct()
        return
    deep = not c.half and c.direction == "fwd" and c.depth >= max(256, c.columns)
    if deep and c.counted:
        yield memset(4)
    yield c.plain()
    if deep and d["n"] == 1 and c.depth >= 1024 and ceil(c.rows / 64) * ceil(c.columns / 64) <= 32:
        yield sum_parts(c.target, 2)  # batches of products are not split along their depth


def _small_images(c: Product) -> bool:
    """Whether cuDNN's heuristics select a kernel for vector lanes: for 16 to 32 small images of
    fewer than 128 channels, unless the number of resulting channels is a power of two."""
    batch, outputs = c.work.dims["n"], c.columns
    small = c.pixels <= 18**2 and 8 <= c.depth < 128
    return small and 16 <= batch <= 32 and outputs & (outputs - 1) != 0


def _converts_weights(c: Product, weights: int, activations: int) -> bool:
    """Whether the gradient of a 1×1 weight is one NHWC product over all images."""
    d = c.work.dims
    if not c.half:
        thin = d["cin"] <= 32 and c.depth > 20_000
        return d["dims"] == 2 and (thin or (weights >= 1.6 * activations and c.adds >= 3e8))
    narrowing = d["cin"] > d["cout"] and c.adds >= 1e8
    much = weights > activations and (narrowing or c.adds >= 1.5e9 or weights >= 1e6)
    return much or (c.pixels % 2 == 1 and weights >= 2e5 and c.adds >= 5e9)
