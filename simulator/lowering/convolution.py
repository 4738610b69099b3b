"""Convolutions as cuDNN and PyTorch launch them: conversions, products, splits, reductions.

Tensor cores want NHWC, so a network in NCHW pays for conversions around every convolution that is
no plain matrix product. The rules were read off an H200 (cuDNN 9.19, torch 2.11), whole networks
and 900 random shapes. cuDNN chooses by heuristics; the thresholds are where its choice turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.implicit_gemm import Product, product
from simulator.lowering.layouts import converted, fill, made_dense, padded, summed, zeros
from simulator.lowering.registry import lowering
from simulator.records import Signature

_SHORT = {"tf32": "tf32", "float16": "fp16", "bfloat16": "bf16"}
_DIRECT, _SMALL, _LARGE = 5e7, 2e8, 5e8  # multiply-adds
_LIGHT = 40_000  # elements of a gradient


@lowering("conv")
def convolution(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernels of one direction, in launch order."""
    short = _SHORT.get(work.dtype)
    if work.dims["depthwise"]:
        kernels = _depthwise(op, work)
    elif work.engine != "tensor" or short is None or not gpu.peak("tensor", short):
        vector = replace(work, engine="vector", instructions=work.flops // 2)
        kernels = iter((vector if work.dtype == "float64" else replace(vector, dtype="float32"),))
    else:
        kernels = _on_tensor_cores(product(op, work, gpu))
    return (*made_dense(op, work.dims), *kernels)


def _depthwise(op: Signature, work: Work) -> Iterator[Work]:
    """One kernel, but in NHWC the weight's gradient sums partial ones (float32: onto zeros)."""
    d, weight = work.dims, op["weight"]
    partial = d["direction"] == "wgrad" and d["channels_last"] and prod(d["kernel"]) > 1
    if partial and weight.itemsize == 4:
        yield fill(weight.numel * 4)
    yield work
    if partial:
        yield summed(weight, 2)


def _on_tensor_cores(c: Product) -> Iterator[Work]:
    d = c.work.dims
    tf32, gradient = not c.half, c.direction != "fwd"
    if d["channels_last"]:
        yield from _nhwc(c)
    elif c.unit and not c.strided and d["groups"] == 1:
        yield from _unit(c)
    elif d["groups"] > 1 and c.half and not gradient and d["cin"] // d["groups"] < 4:
        yield from [_share(c.work, d["groups"])] * d["groups"]  # too thin: group by group
    elif c.unit and tf32 and (d["groups"] > 1 or (c.direction == "dgrad" and c.adds < _SMALL)):
        yield c.work
    elif c.few and not gradient and not _worth_padding(c):
        if prod(d["kernel"]) % 2 == 0 and c.half and c.adds > 1e8:
            yield fill(4 * c.depth)  # the offsets of a patch's elements
        yield c.work
    elif tf32 and gradient and (c.sources[0].numel < _LIGHT or (c.few and c.columns <= 128)):
        yield fill(c.target.numel * 4)  # parts are added to zeros
        yield c.work
    elif tf32 and not gradient and not c.few and d["groups"] == 1 and c.adds < _SMALL:
        yield from _small(c)
    else:
        yield from _implicit(c)


def _unit(c: Product) -> Iterator[Work]:
    """1×1 of stride 1: W [cout, cin] @ x [cin, h·w] for each image, as NCHW lies.

    An odd h·w defeats vector loads, so what is large is converted. A weight's gradient sums over
    the images (one more kernel), unless that sum has more elements than a conversion would.
    """
    d = c.work.dims
    pixels, weights, channels = prod(d["spatial_out"]), d["cin"] * d["cout"], d["cin"] + d["cout"]
    if c.direction == "wgrad":
        thin = not c.half and d["cin"] <= 32 and c.depth > 20_000
        if thin or weights > max(250_000, (1 if c.half else 1.2) * pixels * channels):
            yield from map(converted, c.sources)
            if thin or _split(c):
                yield fill(4)
            yield c.work
        else:
            yield from (c.work, summed(c.target, d["n"]))
        return
    if pixels % 2 and c.adds >= (1e8 if c.half else 1e9 if c.direction == "fwd" else 4e8):
        yield from (converted(c.sources[0]), c.work, converted(c.target))
        return
    deep = not c.half and c.direction == "fwd" and c.depth >= max(256, c.columns)
    if deep and c.counted:
        yield fill(4)
    yield c.work
    if deep and d["n"] == 1 and c.depth >= 1024 and ceil(c.rows / 64) * ceil(c.columns / 64) <= 32:
        yield summed(c.target, 2)  # batches of products are not split along their depth


def _small(c: Product) -> Iterator[Work]:
    """Small TF32 convolutions run on kernels that read or at least write NCHW."""
    if c.unit:
        direct = c.sources[1].numel <= 2**17 and c.rows >= 128
        yield from (c.work,) if direct else (converted(c.sources[0]), c.work, converted(c.target))
    elif c.depth <= 1000 and c.adds < _DIRECT:
        yield c.work
    else:
        yield from map(converted, c.sources)
        if c.depth > 2000:  # split: parts are added to zeros
            yield fill(c.target.numel * 4)
        yield c.work


def _implicit(c: Product) -> Iterator[Work]:
    """To NHWC, the product of patches that are never stored, and back to NCHW.

    A 1×1 weight lies alike in both. Channels that no load divides are padded with zeros.
    """
    d = c.work.dims
    pads = c.half or d["groups"] > 1 or (c.few and c.direction == "wgrad")
    for index, tensor in enumerate(c.sources):
        is_weight = index == 1 and c.direction != "wgrad"
        if is_weight and c.unit and d["groups"] == 1:
            continue
        if pads and padded(tensor, is_weight, d["groups"]):
            yield zeros(tensor)
        yield converted(tensor)
    if c.direction == "fwd" and not (c.half or c.few) and c.depth <= 576 and c.columns <= 64:
        yield c.work  # narrow TF32 tiles are written to NCHW from registers
        return
    yield from _main(c)
    if not (c.unit and c.direction == "wgrad"):
        yield converted(c.target)


def _nhwc(c: Product) -> Iterator[Work]:
    """No conversions; bfloat16 pads the few channels of a first layer."""
    if c.few and c.work.dtype == "bfloat16" and c.direction == "fwd":
        for tensor in c.sources:
            yield from (zeros(tensor), converted(tensor))
    if c.unit and not c.strided:
        yield c.work
        if c.direction == "wgrad" and c.blocks < 7:
            yield summed(c.target, 2)
    else:
        yield from _main(c)


def _main(c: Product) -> Iterator[Work]:
    """The kernel, with the zeros that it starts from and the sum of its splits."""
    split = _split(c)
    if c.direction == "dgrad" and c.strided and c.adds > 1e8:  # strides leave gaps
        yield fill(c.target.numel * c.target.itemsize)
    elif c.counted or split:
        yield fill(4)
    yield c.work
    if split and c.direction == "wgrad" and (c.few or c.depth > 1300 * c.blocks):
        yield summed(c.target, 2)


def _split(c: Product) -> bool:
    """Is the depth shared out? Where it is long for the number of tiles. A weight's gradient has
    few tiles, and sums over all pixels."""
    if c.direction == "wgrad":
        return c.depth >= 2048 if c.few else c.depth > (500 if c.half else 40) * c.blocks
    return c.direction == "fwd" and c.hopper and c.depth > 1000 * c.blocks


def _worth_padding(c: Product) -> bool:
    """Large first layers are, and wide ones of patches that don't overlap."""
    d = c.work.dims
    wide_patches = c.half and d["stride"] == d["kernel"] and d["cout"] >= 1024
    return c.adds >= _LARGE or wide_patches


def _share(work: Work, parts: int) -> Work:
    return replace(
        work, flops=work.flops // parts, read_bytes=work.read_bytes // parts,
        write_bytes=work.write_bytes // parts, dims=work.dims | {"groups": 1},
    )  # fmt: skip
