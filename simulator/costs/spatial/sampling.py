"""Sampling at the positions of a grid, and region pooling (RoI)."""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.kernels.launches import (
    fill_like,
    index_range,
    pointwise,
    strided_copy,
)
from simulator.costs.registry import Work, cost
from simulator.costs.spatial.windows import covered_bytes, window
from simulator.records import Signature, Tensor, row_major


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
    read = covered_bytes(_image(op), op.out, _grid_taps(op)) + op["grid"].nbytes
    return _sampled("samples", op, op.out, 2, read, op.out.nbytes)


def _image(op: Signature) -> Tensor:
    """The sampled tensor, which cuDNN's ops name `self`."""
    return op.get("input") or op["self"]


def _sampled(
    variant: str, op: Signature, sampled: Tensor, flops: int, read: int, write: int
) -> Work:
    """One thread per position, which visits the channels one after another, with `flops` for each
    tap (GridSampler.cu)."""
    channels = _image(op).shape[1]
    taps = flops * _grid_taps(op) * channels
    return window(
        "resample", op, sampled.numel // max(channels, 1), taps, read, write,
        slots=4, variant=variant, serial=channels,
    )  # fmt: skip


@cost("aten.grid_sampler_2d_backward.default", "aten.grid_sampler_3d_backward.default")
@cost("aten.cudnn_grid_sampler_backward.default")
def grid_sampler_backward(op: Signature) -> tuple[Work, ...]:
    """Gradients of the input, added to zeros atomically, and of the grid, by one kernel."""
    grad, wants = op["grad_output"], op.arg("output_mask", [True, True])
    clear = (fill_like(op.out),) if wants[0] else ()
    return *clear, _sampled("samples_backward", op, grad, 4, op.read_bytes, op.write_bytes)


@cost("aten.affine_grid_generator.default", "aten.cudnn_affine_grid_generator.default")
def affine_grid(op: Signature) -> tuple[Work, ...]:
    """A 2·3 (or 3·4) matrix times each base coordinate: along each dimension a range from -1 to 1,
    which is multiplied and divided unless corners are aligned, and copied into the base grid; then
    ones, and a product (ATen/native/AffineGridGenerator.cpp)."""
    out, size = op.out, op.out.itemsize
    images, *sides, spatial = out.shape
    grid = row_major((images, *sides, spatial + 1))[:-1]
    place = Tensor((images, *sides), out.dtype, grid)
    launches: list[Work] = []
    for d, side in enumerate(sides):
        ends = [pointwise(side, side * size, side * size, dtype=out.dtype)] * 2
        steps = tuple(int(d == other) for other in range(len(sides)))
        coordinates = replace(place, stride=(0, *steps))
        launches += [index_range(side, size), *([] if op.arg("align_corners") else ends)]
        launches.append(strided_copy(coordinates, place, place.nbytes))
    places = prod(sides)
    product = Work(
        "gemm",
        2 * images * places * spatial * (spatial + 1),
        images * places * (spatial + 1) * size + op.inputs[0].nbytes,
        out.nbytes,
        "vector" if out.dtype in ("float32", "float64") else "tensor",
        out.dtype,
        images * places * spatial * (spatial + 1),
        {
            "b": images, "m": places, "n": spatial, "k": spatial + 1,
            "transa": False, "transb": True, "epilogue": None,
        },
    )  # fmt: skip
    return *launches, fill_like(place), product


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
