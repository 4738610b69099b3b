"""Depthwise convolutions: kernels of ATen and cuDNN.

There is no matrix product for tensor cores: each output is a short sum over one channel. The rules
were observed on an H200 (cuDNN 9.19, torch 2.11), from the names of some 900 kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.layouts import memset, sum_parts
from simulator.lowering.turns import threads_of_unit
from simulator.records import Signature, Tensor
from simulator.timing.rates import units_of

_WARP = 32
_WARPS = 8  # maximum number of warps per block of ATen's weight gradient
_TILE = 8  # pixels of a row in `conv2d_c1_k1_nchw_shmem_tiling`, at stride 2
_MANY_IMAGES = 8  # minimum number of images for cuDNN's half-precision kernel of the forward pass


def depthwise(op: Signature, work: Work, gpu: GPU) -> Iterator[Work]:
    """One kernel; if blocks share cuDNN's weight gradient in NHWC, also the sum of their parts,
    which float32 kernels add to zeros."""
    d, weight = work.dims, op["weight"]
    size = {"weights": weight.numel, "item_bytes": weight.itemsize}
    if d["native"]:
        yield replace(work, dims=d | size | _native(work, weight.numel, gpu))
        return
    kind = _kind(work, single=weight.itemsize >= 4)
    variant = "_".join(filter(None, ("depthwise", kind, d["direction"])))
    partial = d["direction"] == "wgrad" and d["channels_last"] and kind != "grouped"
    if partial and weight.itemsize >= 4:
        yield memset(weight.numel * 4)
    yield replace(work, dims=d | size | {"variant": variant})
    if partial:
        yield sum_parts(weight, d["n"])  # one part per image


def grouped_direct(work: Work, weight: Tensor) -> Work:
    """One direction of thin groups by a kernel such as `conv2d_grouped_direct_kernel`."""
    size = {"weights": weight.numel, "item_bytes": weight.itemsize}
    return replace(
        work,
        engine="vector",
        dtype="float32",
        instructions=work.flops // 2,
        dims=work.dims | size | {"variant": f"depthwise_grouped_{work.dims['direction']}"},
    )


def _native(work: Work, weights: int, gpu: GPU) -> dict[str, object]:
    """The dims of ATen's kernels, which are compiled for squares of 1, 3 and 5
    (DepthwiseConv2d.cu); for other sizes, a `generic` kernel loops over the size.

    The gradient of the weight has one block per weight, whose warps each take one image, 32 pixels
    at a time; `steps` counts these iterations over all rounds of blocks.
    """
    d = work.dims
    sides = set(d["kernel"])
    dims: dict[str, object] = {
        "variant": f"native_{d['direction']}",
        "generic": d["dims"] != 2 or len(sides) > 1 or not sides & {1, 3, 5},
    }
    if d["direction"] == "wgrad":
        warps = min(d["n"], _WARPS)
        places = units_of(gpu) * (threads_of_unit(gpu) // (warps * _WARP))
        rounds = ceil(d["n"] / warps) * ceil(prod(d["spatial_out"]) / _WARP)
        dims["steps"] = ceil(weights / places) * rounds
    return dims


def _kind(work: Work, *, single: bool) -> str:
    """Kind of cuDNN kernel: "grouped" for any groups; in the forward pass "single" for float32,
    "many" for many images in NHWC half precision; else ""."""
    d = work.dims
    if _grouped(work, single):
        return "grouped"
    if d["direction"] != "fwd":
        return ""
    has_many_images = d["channels_last"] and d["n"] >= _MANY_IMAGES
    return "single" if single else "many" if has_many_images else ""


def _grouped(work: Work, single: bool) -> bool:
    """Whether cuDNN's slow direct kernels, which support any groups, run. Kernels for one channel
    per group cover odd square sizes up to 7 with strides 1 and 2, and 1×1 with stride 1."""
    d = work.dims
    sides, strides = set(d["kernel"]), set(d["stride"])
    if d["dims"] == 1 or (d["cin"] != d["cout"] and not (single and d["channels_last"])):
        return False
    if set(d["dilation"]) != {1} or d["cin"] != d["cout"]:
        return True
    if not d["channels_last"]:
        tiled = d["direction"] == "fwd" and d["n"] > 1 and d["spatial_out"][-1] >= _TILE
        return strides == {2} and not tiled
    if d["direction"] == "dgrad":
        return not _regular(sides, strides)
    if not _regular(sides, strides) or (sides == {1} and strides != {1}):
        return True
    if single and d["direction"] == "wgrad":
        return not sides & {3, 5} or d["cin"] % 4 > 0
    return False


def _regular(sides: set[int], strides: set[int]) -> bool:
    return len(sides) == len(strides) == 1 and sides <= {1, 3, 5, 7} and strides <= {1, 2}
