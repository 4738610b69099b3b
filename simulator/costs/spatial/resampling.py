"""Interpolation, sampling on a grid, and region pooling (RoI)."""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import (
    copy_onto,
    fill_like,
    index_range,
    pointwise,
    vector_dtype,
)
from simulator.costs.movement.copies import move
from simulator.costs.movement.fills import fill_of
from simulator.costs.registry import Work, cost
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
        return move(grad, out)
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
    return *_to_rows(op, grad), fill_like(out), main


def _grid_taps(op: Signature) -> int:
    """Inputs per output, for interpolation_mode 0 (bi- or trilinear), 1 (nearest) and 2
    (bicubic)."""
    corners = 8 if "3d" in op.name else 4
    mode: int = op.arg("interpolation_mode", 0)
    return (corners, 1, 16)[mode]


@cost("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
@cost("aten.cudnn_grid_sampler.default")
def grid_sampler(op: Signature) -> Work:
    """Sampling at positions of a grid: each output is a weighted sum of inputs."""
    x, grid = op.inputs[0], op["grid"]
    taps = _grid_taps(op)
    read = covered_bytes(x, op.out, taps) + grid.nbytes
    return window(
        "resample", op, op.out.numel, 2 * taps, read, op.out.nbytes, slots=4, variant="gather"
    )


@cost("aten.grid_sampler_2d_backward.default", "aten.grid_sampler_3d_backward.default")
@cost("aten.cudnn_grid_sampler_backward.default")
def grid_sampler_backward(op: Signature) -> tuple[Work, ...]:
    """Gradients of the input, added to zeros, and of the grid, by one kernel."""
    grad, wants = op["grad_output"], op.arg("output_mask", [True, True])
    clear = (fill_like(op.out),) if wants[0] else ()
    main = window(
        "resample",
        op,
        grad.numel,
        4 * _grid_taps(op),
        op.read_bytes,
        op.write_bytes,
        slots=4,
        variant="scatter",
    )
    return *clear, main


@cost("aten.affine_grid_generator.default", "aten.cudnn_affine_grid_generator.default")
def affine_grid(op: Signature) -> tuple[Work, ...]:
    """A grid of base coordinates, and its product with a 2·3 (or 3·4) matrix for each sample
    (AffineGridGenerator.cpp, `make_base_grid_4D`). Each dimension's coordinates are evenly spaced,
    scaled by two kernels unless corners are aligned, and copied into the grid."""
    out = op.out
    batch, *sides, rank = out.shape
    places, size = prod(sides), out.itemsize
    apart = Tensor(tuple(sides), out.dtype, tuple((rank + 1) * n for n in row_major(tuple(sides))))
    coordinates: list[Work] = []
    for dim, side in enumerate(sides):
        line = Tensor(tuple(sides), out.dtype, tuple(int(d == dim) for d in range(len(sides))))
        scaled = () if op.arg("align_corners") else (pointwise(side, side * size, side * size),) * 2
        coordinates += (index_range(side, size), *scaled, *move(line, apart))
    product = Work(
        "gemm",
        2 * out.numel * (rank + 1),
        places * (rank + 1) * size + op["theta"].nbytes,
        out.nbytes,
        dtype=vector_dtype(out.dtype) if size > 2 else out.dtype,
        engine="vector" if size > 2 else "tensor",
        dims={
            "b": batch,
            "m": places,
            "n": rank,
            "k": rank + 1,
            "transa": False,
            "transb": False,
            "align_bytes": size,
            "epilogue": None,
        },
    )
    return *coordinates, *fill_of(apart), product


@cost("torchvision.roi_align.default", "torchvision.roi_pool.default")
def roi(op: Signature) -> Work:
    """Bins of each region: the mean of sampling_ratio² samples of four neighbours, or a maximum.

    A ratio of 0 or less adapts to the size of the region, which depends on the data: 2 per side is
    assumed.
    """
    x, out, ratio = op["input"], op.out, op.arg("sampling_ratio", 0)
    places = (ratio if ratio > 0 else 2) ** 2
    taps = 8 * places if "align" in op.name else places
    read = covered_bytes(x, out, taps) + op["rois"].nbytes
    return window("resample", op, out.numel, taps, read, op.write_bytes, slots=4, variant="gather")
