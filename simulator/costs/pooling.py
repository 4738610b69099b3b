"""Pooling, resampling, sampling on a grid, sliding windows and mirrored padding.

Each is one kernel over its outputs, or over its inputs going back. A backward that adds with
atomics has its result cleared before: the files named are those of ATen/native/cuda.
"""

from __future__ import annotations

from math import prod
from typing import Any

from simulator.costs.launches import fill_like, lanes
from simulator.costs.registry import Cost, Work, cost
from simulator.records import Signature, Tensor


def _window(
    family: str,
    op: Signature,
    outputs: int,
    taps: int,
    read: int,
    write: int,
    *,
    slots: int = 2,
    variant: str | None = None,
    steps: int = 0,
    threads: int = 0,
) -> Work:
    """`taps` values for each output, each an addition or a comparison; `slots` to fetch one.

    `variant` names the kernel where a family has several, `steps` counts what one thread does one
    after the other, and `threads` are as many as the outputs unless given.
    """
    x = op.inputs[0]
    threads = threads or outputs
    dims: dict[str, Any] = {
        "elements": threads,
        "taps": taps,
        "channels_last": _channels_last(x),
        "item_bytes": x.itemsize,
        "channels": x.shape[1] if len(x.shape) > 3 else 0,
    }
    if variant:
        dims["variant"] = variant
    if steps:
        dims |= {"steps": steps, "places": threads // steps}
    if variant in ("adaptive", "adaptive_backward") and not dims["channels_last"]:
        dims["runs"] = prod(x.shape[: -_spatial(op)])  # a block a plane
    return Work(
        family,
        outputs * taps,
        read,
        write,
        dtype=lanes(x.dtype),
        instructions=threads * (taps * slots + 4),
        dims=dims,
    )


def _channels_last(x: Tensor) -> bool:
    return len(x.shape) > 3 and not x.contiguous and x.stride[1] == 1


def _taps(op: Signature, spatial: int) -> int:
    """Elements of a pooling window: one number for all sides, or one each."""
    sides = op.arg("kernel_size")
    sides = [sides] if isinstance(sides, int) else sides
    return prod(sides) if len(sides) > 1 else sides[0] ** spatial


def _spatial(op: Signature) -> int:
    """2 or 3, from the op's name."""
    return 3 if "3d" in op.name else 1 if "1d" in op.name else 2


def _seen(x: Tensor, out: Tensor, taps: int) -> int:
    """Bytes of the inputs that some window covers: strides may leap over the others."""
    return min(x.nbytes, out.numel * taps * x.itemsize)


@cost(
    "aten.max_pool2d_with_indices.default",
    "aten.max_pool3d_with_indices.default",
    "aten.fractional_max_pool2d.default",
    "aten.fractional_max_pool3d.default",
    "aten.avg_pool2d.default",
    "aten.avg_pool3d.default",
)
def pool(op: Signature) -> Work:
    """kernel_size values to one; a maximum writes its place (int64) as well.

    The fractional ones have their windows at random places.
    """
    x, out = op["self"], op.out
    taps = _taps(op, _spatial(op))
    variant = "max" if "max" in op.name else "average"
    read = _seen(x, out, taps)
    return _window("pool", op, out.numel, taps, read, op.write_bytes, variant=variant)


@cost(
    "aten.adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_max_pool2d.default",
    "aten.adaptive_max_pool3d.default",
)
def adaptive_pool(op: Signature) -> Work:
    """Windows that together cover the input: about in / out values each."""
    x, out = op["self"], op.out
    taps = -(-x.numel // max(out.numel, 1))
    return _window(
        "pool", op, out.numel, taps, x.nbytes, op.write_bytes, variant="adaptive", steps=taps
    )


@cost(
    "aten.max_pool2d_with_indices_backward.default",
    "aten.max_pool3d_with_indices_backward.default",
    "aten.fractional_max_pool2d_backward.default",
    "aten.fractional_max_pool3d_backward.default",
    "aten.adaptive_max_pool2d_backward.default",
    "aten.adaptive_max_pool3d_backward.default",
)
def max_pool_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros, then each gradient to the place that won: a thread an input (DilatedMaxPool2d.cu)."""
    grad, out = op["grad_output"], op.out
    read = grad.nbytes + op["indices"].nbytes
    main = _window(
        "pool", op, grad.numel, 1, read, out.nbytes, variant="max_backward", threads=out.numel
    )
    return fill_like(out), main


@cost("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def avg_pool_backward(op: Signature) -> tuple[Work, ...]:
    """Each input gathers the windows over it; in 3-d they add to zeros (AveragePool3d.cu)."""
    grad, out = op["grad_output"], op.out
    taps = max(1, -(-grad.numel * _taps(op, _spatial(op)) // max(out.numel, 1)))
    main = _window("pool", op, out.numel, taps, grad.nbytes, out.nbytes, variant="average_backward")
    return (fill_like(out), main) if "3d" in op.name else (main,)


@cost("aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros, then each input's share (AdaptiveAveragePooling.cu, `zeros_like`)."""
    grad, out = op["grad_output"], op.out
    steps = 0 if _channels_last(grad) else prod(out.shape[-_spatial(op) :])  # of one plane's block
    main = _window(
        "pool", op, out.numel, 1, grad.nbytes, out.nbytes, variant="adaptive_backward", steps=steps
    )
    return fill_like(out), main


@cost("aten.max_unpool2d.default", "aten.max_unpool3d.default")
def max_unpool(op: Signature) -> tuple[Work, Work]:
    """Zeros, then each value to its place."""
    x = op["self"]
    return fill_like(op.out), _window("pool", op, x.numel, 1, op.read_bytes, x.nbytes)


_TAPS = {
    "nearest": (1, 1, 1),
    "linear": (2, 0, 0),
    "bilinear": (0, 4, 0),
    "trilinear": (0, 0, 8),
    "bicubic": (0, 16, 0),
    "lanczos": (0, 36, 0),
}
"""Inputs that each output of an enlargement looks at, in 1, 2 and 3 dimensions."""


def _upsample_taps(op: Signature, large: Tensor, small: Tensor) -> int:
    """An antialiased reduction looks at as many inputs more as it shrinks the picture."""
    mode = next(
        m
        for m in ("bilinear", "trilinear", "bicubic", "lanczos", "nearest", "linear")
        if m in op.name
    )
    taps = _TAPS[mode][_spatial(op) - 1]
    return max(taps, taps * (large.numel // max(small.numel, 1))) if "_aa" in op.name else taps


def _upsample(op: Signature) -> Work:
    """Each output a weighted sum of its neighbours: a multiply-add for each of them."""
    x, out = op["self"], op.out
    taps = _upsample_taps(op, x, out)
    arithmetic = 1 if taps == 1 else 2 * taps
    steps = _serial_planes(op, x)
    return _window(
        "resample",
        op,
        out.numel,
        arithmetic,
        _seen(x, out, taps),
        out.nbytes,
        variant="serial" if steps else "gather",
        steps=steps,
    )


def _serial_planes(op: Signature, x: Tensor) -> int:
    """Images times channels, where a thread has one place in all of them, one after the other.

    So are all interpolations but the nearest, and the bilinear one of 16 or more channels that
    lie innermost (UpSampleBilinear2d.cu, `upsample_bilinear2d_nhwc_out_frame`).
    """
    wide = "bilinear2d" in op.name and _channels_last(x) and x.shape[1] >= 16
    return 0 if "nearest" in op.name or wide else prod(x.shape[: -_spatial(op)])


def _upsample_backward(op: Signature) -> tuple[Work, ...]:
    """Nearest gathers, image after image unless channels lie innermost; the others add to zeros
    with atomics (UpSampleBilinear2d.cu), bilinear and trilinear ones a thread an output."""
    grad, out = op["grad_output"], op.out
    if "nearest" in op.name:
        taps = max(1, grad.numel // max(out.numel, 1))
        steps = 0 if _channels_last(grad) else grad.shape[0]
        return (
            _window(
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
    main = _window(
        "resample",
        op,
        grad.numel,
        2 * taps,
        grad.nbytes + out.nbytes,
        out.nbytes,
        variant="scatter",
        steps=steps,
    )
    return fill_like(out), main


_UPSAMPLES = (
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d",
    "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
    "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa",
)  # fmt: skip


def _register(names: tuple[str, ...], suffix: str, rule: Cost) -> None:
    cost(*(f"aten.{name}{suffix}.default" for name in names))(rule)


_register(_UPSAMPLES, "", _upsample)
_register(_UPSAMPLES, "_backward", _upsample_backward)


def _grid_taps(op: Signature) -> int:
    """interpolation_mode 0 (bi- or trilinear), 1 (nearest), 2 (bicubic)."""
    corners = 8 if "3d" in op.name else 4
    mode: int = op.arg("interpolation_mode", 0)
    return (corners, 1, 16)[mode]


@cost("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
@cost("aten.cudnn_grid_sampler.default")
def grid_sampler(op: Signature) -> Work:
    """Each output from the neighbours of a place that the grid gives."""
    x, grid = op.inputs[0], op["grid"]
    taps = _grid_taps(op)
    read = _seen(x, op.out, taps) + grid.nbytes
    return _window(
        "resample", op, op.out.numel, 2 * taps, read, op.out.nbytes, slots=4, variant="gather"
    )


@cost("aten.grid_sampler_2d_backward.default", "aten.grid_sampler_3d_backward.default")
@cost("aten.cudnn_grid_sampler_backward.default")
def grid_sampler_backward(op: Signature) -> tuple[Work, ...]:
    """Gradients of the input, added to zeros, and of the grid, in one kernel."""
    grad, wants = op["grad_output"], op.arg("output_mask", [True, True])
    clear = (fill_like(op.out),) if wants[0] else ()
    main = _window(
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
def affine_grid(op: Signature) -> Work:
    """A 2·3 (or 3·4) matrix times each base coordinate; the base grid is built on the way."""
    out = op.out
    side = out.shape[-1]
    return _window("resample", op, out.numel, 2 * (side + 1), op.read_bytes, out.nbytes)


@cost("aten.im2col.default")
def im2col(op: Signature) -> tuple[Work, ...]:
    """Columns of windows, a kernel for each sample of the batch (Im2Col.cu)."""
    x, out = op["self"], op.out
    n = x.shape[0] if len(x.shape) == 4 else 1
    if out.numel == 0:
        return ()
    one = _window("copy", op, out.numel // n, 0, x.nbytes // n, out.nbytes // n)
    return (one,) * n


@cost("aten.col2im.default")
def col2im(op: Signature) -> Work:
    """Each pixel the sum of the windows over it, one kernel for the batch (Col2Im.cu)."""
    x, out = op["self"], op.out
    taps = max(1, -(-x.numel // max(out.numel, 1)))
    return _window("pool", op, out.numel, taps, x.nbytes, out.nbytes)


@cost("aten.unfold_backward.default")
def unfold_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros, then the windows added to them."""
    grad = op["grad_in"]
    return fill_like(op.out), _window("pool", op, grad.numel, 1, grad.nbytes, op.out.nbytes)


_PADS = tuple(f"{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3))


def _pad(op: Signature) -> Work:
    """Each output from one place of the input."""
    x, out = op["self"], op.out
    return _window("copy", op, out.numel, 0, x.nbytes, out.nbytes)


def _pad_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros, then each gradient added to the place that it came from."""
    grad, out = op["grad_output"], op.out
    main = _window("scatter", op, grad.numel, 1, grad.nbytes + out.nbytes, out.nbytes)
    return fill_like(out), main


_register(_PADS, "", _pad)
_register(_PADS, "_backward", _pad_backward)


@cost("torchvision.roi_align.default", "torchvision.roi_pool.default")
def roi(op: Signature) -> Work:
    """Bins of each region: the mean of sampling_ratio² places of four neighbours, or a maximum.

    A ratio of 0 or less means as many places as the region's size asks: 2 a side is taken.
    """
    x, out, ratio = op["input"], op.out, op.arg("sampling_ratio", 0)
    places = (ratio if ratio > 0 else 2) ** 2
    taps = 8 * places if "align" in op.name else places
    read = _seen(x, out, taps) + op["rois"].nbytes
    return _window("resample", op, out.numel, taps, read, op.write_bytes, slots=4, variant="gather")
