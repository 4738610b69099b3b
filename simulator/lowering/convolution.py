"""Convolutions as cuDNN and PyTorch launch them: conversions, products, splits and reductions.

Tensor cores require NHWC, so a network in NCHW pays for conversions around every convolution that
is not a plain matrix product. The rules were observed on an H200 (cuDNN 9.19, torch 2.11) with
whole networks and 900 random shapes. cuDNN selects by heuristics; the thresholds are where its
choice changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.convolution_depthwise import depthwise, grouped_direct
from simulator.lowering.convolution_grouped import (
    are_few_and_thin,
    are_separate,
    has_single_outputs,
    has_small_groups,
    has_thin_squares,
    has_wide_gradient,
    join_groups,
    of_long_group,
    one_by_one,
    run_together,
)
from simulator.lowering.convolution_nhwc import main_kernel, nhwc
from simulator.lowering.convolution_on_lanes import has_direct_volume_gradient, runs_on_engine
from simulator.lowering.convolution_pointwise import pointwise_convolution
from simulator.lowering.convolution_widened import (
    has_direct_kernel,
    is_widened,
    runs_on_lanes,
    widened,
)
from simulator.lowering.implicit_gemm import Product, product
from simulator.lowering.layouts import (
    channels_per_load,
    dense_copies,
    memset,
    needs_padding,
    nhwc_conversion,
    padded_zeros,
    padding_copy,
)
from simulator.lowering.registry import lowering
from simulator.lowering.single_pixel import has_one_pixel, is_linear_layer, linear_layer
from simulator.lowering.winograd import winograd
from simulator.records import Signature

_SHORT = {"tf32": "tf32", "float16": "fp16", "bfloat16": "bf16"}
_DIRECT, _SMALL, _LARGE = 5e7, 2e8, 5e8  # limits in multiply-adds
_LARGE_TF32, _LARGE_PATCHES = 1.5e9, 2e9
_DEEP = 64  # elements of a patch
_THIN_CHANNELS, _SHALLOW = 16, 128
"""In half precision and NCHW, patches of fewer channels and at most this many elements run on
vector lanes (`implicit_convolve_sgemm`): 79% of 206 recorded ones, and 6% of others."""


@lowering("conv")
def convolution(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernels of one direction, in launch order."""
    kernels: Iterable[Work]
    work = widened(work, op["weight"].dtype)
    if work.dims["depthwise"]:
        kernels = depthwise(op, work, gpu)
    else:
        on_tensor = _has_tensor_cores(work, gpu)
        if not on_tensor:
            dtype = "float64" if work.dtype == "float64" else "float32"
            work = replace(work, engine="vector", dtype=dtype, instructions=work.flops // 2)
        if is_linear_layer(work):
            kernels = linear_layer(op, work, gpu)
        elif on_tensor:
            kernels = _on_tensor_cores(product(op, work, gpu))
        else:
            kernels = (work,) if work.dtype == "float64" else _on_lanes(product(op, work, gpu), gpu)
    return (*dense_copies(op, work.dims), *kernels)


def _has_tensor_cores(work: Work, gpu: GPU) -> bool:
    """Whether the GPU has tensor cores for a convolution's dtype."""
    short = _SHORT.get(work.dtype)
    return work.engine == "tensor" and short is not None and bool(gpu.peak("tensor", short))


def _on_lanes(c: Product, gpu: GPU) -> Iterator[Work]:
    """The kernels of a convolution in single precision on a GPU without tensor cores for it."""
    yield from list(winograd(c, gpu)) or [replace(c.kernel(variant="vector"), dtype="float32")]


def _on_tensor_cores(c: Product) -> Iterator[Work]:
    d = c.work.dims
    groups, tf32, forward = d["groups"], not c.half, c.direction == "fwd"
    last = d["channels_last"]
    if is_widened(c) and has_direct_kernel(c):
        yield grouped_direct(c.work, c.sources[1])
    elif is_widened(c) and c.direction == "wgrad":
        yield from list(_on_tensor_cores(c.of_one_group())) * groups
    elif groups > 1 and runs_on_lanes(c):
        yield from one_by_one(c, [c.direct_of_group()])
    elif forward and (has_single_outputs(c) or has_thin_squares(c)):
        yield grouped_direct(c.work, c.sources[1])
    elif groups > 1 and has_small_groups(c):
        yield grouped_direct(c.work, c.target if c.direction == "wgrad" else c.sources[1])
    elif c.long and groups == 1:
        yield c.direct()
    elif has_direct_volume_gradient(c):
        yield grouped_direct(c.work, c.sources[1])
    elif runs_on_engine(c):
        yield memset(c.target.nbytes)
        yield c.direct()
    elif groups > 1 and c.half and forward and d["cin"] // groups < 4 and not last:
        # these groups are too thin for tensor cores and run one by one
        yield from one_by_one(c, [c.direct_of_group()])
    elif groups > 1 and forward and c.unit and tf32 and not last:
        yield from one_by_one(c, [c.direct_of_group()])
    elif groups > 1 and has_wide_gradient(c):
        yield from one_by_one(c, [memset(4 * c.target.numel // groups), c.direct_of_group()])
    elif groups > 1 and not (c.planar or c.long) and run_together(c):
        before, joined, after = join_groups(c)
        yield from (*before, *main_kernel(joined), *after)
    elif groups > 1 and not c.planar and ((last and tf32) or are_few_and_thin(c)) and forward:
        yield from one_by_one(c, [c.direct_of_group()])
    elif groups > 1 and c.long:
        yield from one_by_one(c, of_long_group(c))
    elif groups > 1 and are_separate(c):
        yield from one_by_one(c, _on_tensor_cores(c.of_one_group()))
    elif d["channels_last"]:
        yield from nhwc(c)
    elif c.unit and not c.strided and groups == 1 and not c.sliced:
        yield from pointwise_convolution(c)
    elif c.unit and tf32 and groups > 1:
        yield from one_by_one(c, _of_slices(c.of_one_group()))
    elif forward and ((c.few and not _worth_padding(c)) or _is_shallow(c)):
        if prod(d["kernel"]) % 2 == 0 and c.half and c.adds > 1e8:
            yield memset(4 * c.depth)  # computes the offsets of a patch's elements
        yield from _of_slices(c) if c.sliced and tf32 else (c.direct(),)
    elif tf32 and not forward and groups == 1 and _small_gradient(c):
        if not (c.unit and c.direction == "dgrad"):
            yield memset(c.target.numel * 4)  # partial sums are added to zeros
        yield c.direct()
    elif tf32 and forward and not c.few and groups == 1 and c.adds < _SMALL:
        yield from _small_tf32(c)
    else:
        yield from _implicit(c)


def _is_shallow(c: Product) -> bool:
    """Whether patches in half precision are too thin and shallow to convert images for tensor
    cores."""
    thin = c.work.dims["cin"] < _THIN_CHANNELS and c.depth <= _SHALLOW
    return c.half and thin and c.work.dims["groups"] == 1 and not c.few


def _of_slices(c: Product) -> Iterator[Work]:
    """The kernels of one group in TF32 and NCHW on vector lanes; its channels are copied out and
    in."""
    yield padding_copy(c.sources[0], generic=True)
    yield c.direct()
    yield padding_copy(c.target, generic=True)


def _small_tf32(c: Product) -> Iterator[Work]:
    """The kernels of small TF32 convolutions, which read, or at least write, NCHW."""
    if c.unit:
        if (c.pixels >= 3000 or c.depth <= 64) and c.rows >= 128:
            yield c.direct()
        else:
            yield from (
                nhwc_conversion(c.sources[0]),
                c.kernel(),
                nhwc_conversion(c.target, back=True),
            )
    elif c.adds < 2e6 or (c.depth <= 300 and c.adds < _DIRECT):
        yield c.direct()
    else:
        yield from map(nhwc_conversion, c.sources)
        if c.depth > 2000:  # split: partial sums are added to zeros
            yield memset(c.target.numel * 4)
        yield c.kernel(back=True)


def _small_gradient(c: Product) -> bool:
    """Whether a TF32 gradient of NCHW tensors is too small for tensor cores."""
    if c.direction == "wgrad":
        deep = c.depth <= 200 or (c.depth <= 800 and c.adds < 3e7)
        first = c.few and c.columns <= 128 and c.work.dims["dims"] < 3
        return first or (c.adds < 9e7 and deep)
    if c.unit:
        return c.adds < _SMALL
    narrow = c.columns < 32 or (c.columns == 32 and c.depth > 4000)
    return c.adds < 9e7 and c.rows < 8000 and not narrow and c.work.dims["dims"] < 3


def _implicit(c: Product) -> Iterator[Work]:
    """Conversion to NHWC, the implicit product, and conversion back to NCHW.

    A 1×1 weight has the same layout in both. Channels that are not a multiple of a load are padded
    with zeros. Half-precision kernels of Volta and Turing (`h884cudnn_..._nhwc2nchw`) write NCHW,
    and read strided 1×1 convolutions without conversion (16 images of 256 × 56² in 31 µs on a V100,
    DeepBench, Apache-2.0).
    """
    d = c.work.dims
    groups = d["groups"]
    planar = c.planar and c.half
    if (
        planar
        and c.unit
        and not any(needs_padding(t, i == 1, groups) for i, t in enumerate(c.sources))
    ):
        yield from main_kernel(c)
        return
    for index, tensor in enumerate(c.sources):
        is_weight = index == 1 and c.direction != "wgrad"
        pads = needs_padding(tensor, is_weight, groups)
        same_layout = has_one_pixel(tensor) and (groups == 1 or not is_weight)
        if same_layout and not pads:
            continue
        if pads:
            yield padded_zeros(tensor)
        outer = is_weight and (groups > 1 or tensor.shape[0] % channels_per_load(tensor))
        yield padding_copy(tensor, generic=True) if pads and outer else nhwc_conversion(tensor)
    narrow = not (c.half or c.few) and c.depth <= 576 and c.columns <= 64
    if c.direction == "fwd" and (planar or narrow):
        yield c.kernel(back=True)  # narrow TF32 tiles are written to NCHW from registers
        return
    yield from main_kernel(c)
    if c.direction == "wgrad" and groups > 1 and needs_padding(c.target, True, groups):
        yield padding_copy(c.target, generic=True)
    elif not has_one_pixel(c.target) or needs_padding(c.target, True, groups):
        yield nhwc_conversion(c.target, back=True)


def _worth_padding(c: Product) -> bool:
    """Whether few channels are padded for tensor cores: in large first layers, in TF32 with a large
    weight, and in half precision with deep patches or, if patches do not overlap, with many
    outputs. In float16 a kernel for few outputs needs no padding."""
    d = c.work.dims
    patches = d["stride"] == d["kernel"]
    if d["cin"] < 3:
        return False
    if not c.half:
        large = c.adds >= (_LARGE_PATCHES if patches else _LARGE_TF32)
        return large and c.columns >= 64 and c.columns * c.depth >= 3000
    if patches:
        return c.columns >= 512
    wide = c.columns >= 64 or c.work.dtype == "bfloat16"
    return wide and c.depth >= _DEEP and c.adds >= _LARGE
