"""Interpolation of sequences, images and volumes."""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import (
    copy_onto,
    fill_like,
)
from simulator.costs.movement.copies import move
from simulator.costs.registry import Work, cost
from simulator.costs.spatial.pooling import HALF_ATOMIC
from simulator.costs.spatial.warp_loads import SHARED_CLOCKS, WARP, load_clocks
from simulator.costs.spatial.windows import channels_last, covered_bytes, spatial_dims, window
from simulator.records import Signature, Tensor, row_major

_TAPS = {
    "nearest": (1, 1, 1),
    "linear": (2, 0, 0),
    "bilinear": (0, 4, 0),
    "trilinear": (0, 0, 8),
    "bicubic": (0, 16, 0),
    "lanczos": (0, 36, 0),
}
"""Inputs that each output of an enlargement reads, in 1, 2 and 3 dimensions."""


def _upsample_taps(op: Signature, large: Tensor, small: Tensor) -> int:
    """Inputs per output. Antialiased downscaling reads more along each side, in proportion to its
    scale."""
    mode = next(
        m
        for m in ("bilinear", "trilinear", "bicubic", "lanczos", "nearest", "linear")
        if m in op.name
    )
    taps = _TAPS[mode][spatial_dims(op) - 1]
    if "_aa" not in op.name:
        return taps
    covered = prod(max(*sides) for sides in zip(large.shape[2:], small.shape[2:], strict=True))
    return max(taps, taps * covered // max(prod(small.shape[2:]), 1))


_CAST_UPSAMPLES = (
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d",
    "upsample_trilinear3d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa",
)  # fmt: skip
_UPSAMPLES = (
    *_CAST_UPSAMPLES, "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_lanczos2d_aa"
)  # fmt: skip


@cost(*(f"aten.{name}.default" for name in _CAST_UPSAMPLES), traits=Traits(autocast="float32"))
@cost("aten.upsample_bilinear2d.default", traits=Traits(recompute="intensive", autocast="float32"))
@cost("aten.upsample_bicubic2d.default", traits=Traits(slots=1090, autocast="float32"))
@cost("aten._upsample_lanczos2d_aa.default")
def upsample(op: Signature) -> tuple[Work, ...]:
    """Each output is a weighted sum of its neighbours: one multiply-add each. Bilinear
    interpolation to the same size is a copy, as recorded for SegFormer, and its gradient is assumed
    to be a copy too. Bicubic kernels write over zeros, as recorded. Antialiased kernels compute in
    NCHW between copies (ATen/native/cuda/UpSampleBilinear2d.cu, `upsample_gen2d_aa_out_cuda`)."""
    x, out = op["self"], op.out
    if _is_copy(op, x, out):
        return move(x, out)
    taps = _upsample_taps(op, x, out)
    arithmetic = 1 if taps == 1 else 2 * taps
    steps = _serial_planes(op, x)
    variant = "antialiased" if "_aa" in op.name else _variant(op, "serial") if steps else "gather"
    if spatial_dims(op) == 3:
        variant, steps = f"{variant}_volumes", steps or x.shape[0]
    if variant == "serial_cubic":
        steps = _cubic_steps(x, out, steps)
    main = window(
        "resample",
        op,
        out.numel,
        arithmetic,
        covered_bytes(x, out, taps),
        out.nbytes,
        variant=variant,
        steps=steps,
    )
    if steps:
        main = replace(main, dims=main.dims | {"places": prod(out.shape[2:])})
    cleared = (fill_like(out),) if main.dims.get("variant") == "serial_cubic" else ()
    after = (copy_onto(_rows(out), out),) if "_aa" in op.name and not out.contiguous else ()
    return *_to_rows(op, x), *cleared, main, *after


def _rows(x: Tensor) -> Tensor:
    return replace(x, stride=row_major(x.shape))


def _to_rows(op: Signature, x: Tensor) -> tuple[Work, ...]:
    """The copy of a tensor with gaps for kernels that ignore strides: those of antialiased and of
    nearest interpolation. Nearest kernels also accept channels last."""
    takes = "nearest" in op.name and channels_last(x)
    strided = "nearest" not in op.name and "_aa" not in op.name
    return () if x.contiguous or takes or strided else (copy_onto(x, _rows(x)),)


def _is_copy(op: Signature, source: Tensor, target: Tensor) -> bool:
    """Whether a bilinear interpolation keeps the size, so that it only copies. Other interpolations
    compute even if they keep the size."""
    return (
        "upsample_bilinear2d" in op.name and "_aa" not in op.name and (source.shape == target.shape)
    )


def _serial_planes(op: Signature, x: Tensor) -> int:
    """Images × channels if one thread serially computes one position in all of them, else 0.

    All interpolations do so except nearest, the forward pass of antialiased ones, and bilinear with
    16 or more channels innermost (UpSampleBilinear2d.cu, `upsample_bilinear2d_nhwc_out_frame`).
    """
    if "_aa" in op.name and "backward" not in op.name:
        return 0
    wide = "bilinear2d" in op.name and channels_last(x) and x.shape[1] >= 16
    return 0 if "nearest" in op.name or wide else prod(x.shape[: -spatial_dims(op)])


_BLOCK_WARPS = 32
_WAIT_CLOCKS = 550
"""Clocks of the 16 loads of a plane if only L2 limits them, measured on an H200."""


def _cubic_steps(x: Tensor, out: Tensor, planes: int) -> int:
    """The number of planes, times the ratio of a plane's load clocks to those of a full block whose
    lanes share their sectors. A block of 1,024 positions occupies its multiprocessor alone. Bicubic
    interpolation to the same size loads each value once."""
    places = prod(out.shape[2:])
    warps = min(_BLOCK_WARPS, -(-places // WARP))
    step, row = x.stride[-1] * x.itemsize, x.stride[-2] * x.itemsize
    clocks = load_clocks(step, row, *x.shape[2:], *out.shape[2:])
    taps = 1 if x.shape[2:] == out.shape[2:] else _TAPS["bicubic"][1]
    shared = _BLOCK_WARPS * _TAPS["bicubic"][1] * SHARED_CLOCKS
    return -(-planes * max(_WAIT_CLOCKS, warps * taps * clocks) // shared)


def _variant(op: Signature, kind: str) -> str:
    """The variant of a kernel. Bicubic kernels have a separate one: they read 16 neighbours of each
    plane in turn, four times as many as the others."""
    return f"{kind}_cubic" if "bicubic" in op.name and "_aa" not in op.name else kind


@cost(*(f"aten.{name}_backward.default" for name in _UPSAMPLES))
def upsample_backward(op: Signature) -> tuple[Work, ...]:
    """Nearest interpolation gathers, image after image unless channels are innermost. The others
    add to zeros with atomics; bilinear and trilinear have one thread per output, and bilinear to
    the same size copies."""
    grad, out = op["grad_output"], op.out
    if _is_copy(op, grad, out):
        return fill_like(out), *move(grad, out)
    if "nearest" in op.name:
        taps = max(1, grad.numel // max(out.numel, 1))
        steps = 0 if channels_last(grad) else grad.shape[0]
        return (
            *_to_rows(op, grad),
            window(
                "resample",
                op,
                out.numel,
                taps,
                grad.nbytes,
                out.nbytes,
                variant="nearest_backward",
                steps=steps,
            ),
        )
    taps = _upsample_taps(op, out, grad)
    parallel = "_aa" not in op.name and ("bilinear" in op.name or "trilinear" in op.name)
    steps = 0 if parallel else _serial_planes(op, grad)
    main = window(
        "resample",
        op,
        grad.numel,
        2 * taps,
        grad.nbytes + out.nbytes,
        out.nbytes,
        variant="scatter_antialiased" if "_aa" in op.name else _variant(op, "scatter"),
        steps=steps,
    )
    if parallel:
        lanes = _adding_lanes(op, grad, out)
        waits = lanes * (HALF_ATOMIC if grad.itemsize == 2 else 1)
        dims = main.dims | {"lanes": lanes}
        if conflicts := _conflicts(op, grad, out):
            dims["steps"] = conflicts
        main = replace(main, instructions=main.instructions * waits, dims=dims)
    return *_to_rows(op, grad), fill_like(out), main


_SECTOR_BYTES, _SLICES, _RESIDENT = 32, 96, 270_336
"""Bytes of a sector of L2, and an H200's slices of L2 and resident threads."""


def _conflicts(op: Signature, grad: Tensor, out: Tensor) -> int:
    """Atomic additions that wait for an earlier one to the same sector, if the planes of the
    resident threads have fewer sectors than L2 has slices, as if one value per channel is enlarged
    to an image. On an H200 the gradient of 8 × 256 values, each enlarged to 64 × 64, takes
    16.6 ms; `step_s` of the profile's curve was set to it."""
    places, plane = (prod(t.shape[-spatial_dims(op) :]) for t in (grad, out))
    planes = min(out.numel // max(plane, 1), max(1, _RESIDENT // max(places, 1)))
    sectors = max(1.0, planes * plane * out.itemsize / _SECTOR_BYTES)
    additions = grad.numel * _upsample_taps(op, out, grad)
    return round(additions * max(0.0, 1 / sectors - 1 / _SLICES))


def _adding_lanes(op: Signature, grad: Tensor, out: Tensor) -> int:
    """Lanes of a warp that add to the same element, one after another. The lanes have neighbouring
    gradients, of one row or of several short ones; each adds to 2 elements along a dimension. On an
    H200, 1.6 million gradients in fp32 take 28 µs if 8 lanes share an element, and 79 µs if 16 do;
    4.2 million in fp16 take 189 µs in rows of 32, and 1,258 µs in rows of 16."""
    left, lanes = WARP, 1
    sizes = zip(grad.shape, out.shape, strict=True)
    for large, small in list(sizes)[: -spatial_dims(op) - 1 : -1]:
        each = -(-large * 2 // max(small, 1)) if large > small else 1
        lanes *= min(left, large, each)
        left = max(1, left // max(large, 1))
    return lanes
