"""Convolutions of NHWC (channels last) tensors, whose channels are padded where loads need it.

The rules were observed on an H200 (cuDNN 9.19), like those of `simulator.lowering.convolution`.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.costs import Work
from simulator.lowering.implicit_gemm import Product
from simulator.lowering.layouts import (
    memset,
    needs_padding,
    padded_zeros,
    padding_copy,
    sum_parts,
)

_FIRST_TF32 = 2.4e7
"""Minimum multiply-adds at which a first layer in TF32 and NHWC runs on tensor cores."""
_FIRST_CHANNELS = 4  # of a pixel that such a kernel loads


def nhwc(c: Product) -> Iterator[Work]:
    """Kernels of an NHWC convolution, which needs no conversions.

    Thin groups are padded, as are channels that are not a multiple of a load. A plain product needs
    no padding, nor do most kernels for the few channels of a first layer.
    """
    d = c.work.dims
    if c.sliced and not (c.few and c.direction == "fwd"):
        yield from _nhwc_slices(c)
        return
    if c.unit and not c.strided and d["groups"] == 1 and not c.sliced:
        yield c.plain()
        if c.direction == "wgrad" and c.blocks < 7 and c.depth >= 5000:
            yield sum_parts(c.target, c.parts)
        return
    thin = d["groups"] > 1 and min(d["cin"], d["cout"]) // d["groups"] <= 16
    free = c.few and c.direction == "fwd" and not _pads_first(c)
    if free and _rounds_first(c):
        yield from map(padding_copy, c.sources)
    for index, tensor in enumerate(c.sources):
        is_weight = index == 1 and c.direction != "wgrad"
        if thin or (needs_padding(tensor, is_weight, d["groups"]) and not free):
            yield from (
                padded_zeros(tensor),
                padding_copy(tensor, generic=thin or (is_weight and c.unit)),
            )
    yield from main_kernel(c)
    if thin or needs_padding(c.target, c.direction == "wgrad", d["groups"]):
        yield padding_copy(c.target, generic=thin)


def _nhwc_slices(c: Product) -> Iterator[Work]:
    """The kernels of one group: its channels are copied out, its weights padded, and its results
    copied in."""
    for index, tensor in enumerate(c.sources):
        is_weight = index == 1 and c.direction != "wgrad"
        pads = needs_padding(tensor, is_weight, 1)
        if not is_weight:
            yield padding_copy(tensor, generic=pads)
        elif pads:
            yield from (padded_zeros(tensor), padding_copy(tensor))
    yield from main_kernel(c)
    if c.direction != "wgrad" or needs_padding(c.target, True, 1):
        yield padding_copy(c.target, generic=needs_padding(c.target, c.direction == "wgrad", 1))


def _pads_first(c: Product) -> bool:
    """Whether a first layer in NHWC is padded: for tensor-core tiles of 64 channels in bfloat16,
    for the float16 kernel for images, and in TF32 if a pixel has more channels than the kernel for
    first layers loads."""
    if not c.half:
        return c.adds >= _FIRST_TF32 and c.work.dims["cin"] > _FIRST_CHANNELS
    whole = c.work.dims["cout"] % 64 == 0 and c.adds > 1e6
    return c.image or (c.work.dtype == "bfloat16" and whole)


def _rounds_first(c: Product) -> bool:
    """Whether image and weight of a first layer in NHWC are rounded to TF32 by separate kernels
    (`convertTensor_kernel`) before the product (`…indexed_wo_smem_tf32f32_tf32f32_…`)."""
    return not c.half and c.adds >= _FIRST_TF32


def main_kernel(c: Product) -> Iterator[Work]:
    """The main kernel, preceded by the zeros that it adds to, and followed by the sum of its
    splits."""
    split = c.split
    # strides leave gaps, which are filled with zeros
    if c.direction == "dgrad" and c.strided and c.adds > 1e8:
        yield memset(c.target.numel * c.target.itemsize)
    elif c.counted or split:
        yield memset(4)
    yield c.kernel()
    if split and c.direction == "wgrad" and (c.few or c.depth > 1300 * c.blocks):
        yield sum_parts(c.target, c.parts)
