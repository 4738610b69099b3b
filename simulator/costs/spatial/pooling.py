"""Pooling: one kernel over the outputs, or over the inputs in the backward pass.

A backward pass that adds with atomics clears its result first. Files are those of ATen/native/cuda.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.kernels.launches import copy, fill_like, full_bytes
from simulator.costs.registry import Work, cost
from simulator.costs.spatial.windows import (
    channels_last,
    covered_bytes,
    spatial_dims,
    starts,
    window,
)
from simulator.records import Signature, Tensor

_BLOCK_ROWS, _LANES = 8, 32
"""Threads of a block of adaptive pooling, down and across."""
HALF_ATOMIC = 6
"""Time of an atomic addition of half-precision numbers, relative to one of float32: a loop of
comparisons and exchanges. On an H200, sums of 700 to 8,000 elements take 0.5 and 0.09 µs each."""


_PLACED, _TAP = 335, 20
"""Instructions of a thread of a volume's pooling before its window, mostly divisions of 64-bit
indices, and for each element of the window. On an H200 a block of 256 threads occupies its
multiprocessor for 0.51 µs with 9 elements and for 0.85 to 0.91 µs with 27, however many of its
lanes are idle."""


def _window_taps(op: Signature, spatial: int) -> int:
    """Elements of a pooling window. The kernel size is one number or one per dimension."""
    sides = op.arg("kernel_size")
    sides = [sides] if isinstance(sides, int) else sides
    return prod(sides) if len(sides) > 1 else sides[0] ** spatial


@cost(
    "aten.max_pool2d_with_indices.default",
    "aten.max_pool3d_with_indices.default",
    "aten.fractional_max_pool2d.default",
    "aten.fractional_max_pool3d.default",
    "aten.avg_pool2d.default",
    "aten.avg_pool3d.default",
)
def pool(op: Signature) -> Work:
    """Reduce kernel_size values to one; a maximum writes its index (int64) as well.

    Fractional pooling places its windows at random.
    """
    x, out = op["self"], op.out
    taps = _window_taps(op, spatial_dims(op))
    read = covered_bytes(x, out, taps)
    variant = "max" if "max" in op.name else "average"
    if _is_volume(op):
        variant = f"{variant}_volumes"
        threads = _lanes_of_volumes(out)
        work = window(
            "pool", op, out.numel, taps, read, op.write_bytes, variant=variant, threads=threads
        )
        return replace(work, instructions=_PLACED * threads + _TAP * taps * _lanes(out))
    if op.name == "aten.max_pool2d_with_indices.default" and channels_last(x):
        variant = "max_last"  # a separate kernel (DilatedMaxPool2d.cu, `max_pool_forward_nhwc`)
    return window("pool", op, out.numel, taps, read, op.write_bytes, variant=variant)


@cost("aten._adaptive_avg_pool2d.default")
@cost(
    "aten.adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    "aten._adaptive_avg_pool3d.default",
)
def adaptive_pool(op: Signature) -> Work:
    """Windows that together cover the input: about in / out values per window."""
    x, out = op["self"], op.out
    if channels_last(x):
        taps = -(-x.numel // max(out.numel, 1))
        return window(
            "pool", op, out.numel, taps, x.nbytes, op.write_bytes, variant="adaptive", steps=taps
        )
    return _by_plane(op, "adaptive", x, out)


@cost("aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(op: Signature) -> tuple[Work, ...]:
    """The largest value of each window and its index. An image in another order is copied first,
    and both results are copied into that order."""
    x = op["self"]
    kernel = _by_plane(op, "adaptive_max", x, op.out)
    if x.contiguous:
        return (kernel,)
    first, *results = (copy(t, full_bytes(t)) for t in (x, *op.outputs))
    return first, kernel, *results


def _by_plane(op: Signature, variant: str, x: Tensor, out: Tensor) -> Work:
    """Adaptive pooling with a block of 32 × 8 threads per plane, each of which computes the window
    of one output after another; lanes beyond the last column idle (AdaptiveAveragePooling.cu,
    AdaptiveMaxPooling2d.cu)."""
    high, wide = out.shape[-2:]
    rounds = -(-high // _BLOCK_ROWS) * -(-wide // _LANES)
    dims = spatial_dims(op)
    each = zip(x.shape[-dims:], out.shape[-dims:], strict=True)
    taps = prod(-(-inputs // max(outputs, 1)) for inputs, outputs in each)
    return window(
        "pool", op, out.numel, taps, x.nbytes, op.write_bytes, variant=variant,
        steps=taps * rounds, threads=_lanes(out),
    )  # fmt: skip


def _is_volume(op: Signature) -> bool:
    """Whether an op pools volumes with windows of a fixed place."""
    return "3d" in op.name and "fractional" not in op.name


def _lanes_of_volumes(x: Tensor) -> int:
    """Threads of kernels with a block for each 8 × 32 elements of a plane of a volume, idle ones
    included (AveragePool3d.cu, DilatedMaxPool3d.cu)."""
    high, wide = x.shape[-2:]
    blocks = -(-high // _BLOCK_ROWS) * -(-wide // _LANES)
    return x.numel // max(high * wide, 1) * blocks * _BLOCK_ROWS * _LANES


def _lanes(x: Tensor) -> int:
    """Lanes of the warps that process the rows of each plane, idle ones included."""
    return x.numel // max(x.shape[-1], 1) * -(-x.shape[-1] // _LANES) * _LANES


@cost(
    "aten.max_pool2d_with_indices_backward.default",
    "aten.max_pool3d_with_indices_backward.default",
    "aten.fractional_max_pool2d_backward.default",
    "aten.fractional_max_pool3d_backward.default",
)
def max_pool_backward(op: Signature) -> tuple[Work, Work]:
    """Write zeros, then one thread per input adds the gradients of the windows whose maximum it is
    (DilatedMaxPool2d.cu). In volumes, one thread per output adds to its input
    (DilatedMaxPool3d.cu)."""
    grad, out = op["grad_output"], op.out
    read = grad.nbytes + op["indices"].nbytes
    if _is_volume(op):
        return fill_like(out), window(
            "pool", op, grad.numel, 1, read, out.nbytes, variant="max_volumes_backward",
            threads=_lanes_of_volumes(grad),
        )  # fmt: skip
    adds = "fractional" in op.name  # each output adds to its input atomically
    covering = 1 if adds else _covering(op)
    main = window(
        "pool", op, grad.numel, covering, read, out.nbytes, variant="max_backward",
        threads=out.numel,
    )  # fmt: skip
    return fill_like(out), main


@cost("aten.adaptive_max_pool2d_backward.default", "aten.adaptive_max_pool3d_backward.default")
def adaptive_max_pool_backward(op: Signature) -> tuple[Work, ...]:
    """Write zeros, then add each gradient at the index of its maximum; tensors in another order are
    copied."""
    grad, indices, out = op["grad_output"], op["indices"], op.out
    first = [copy(t, full_bytes(t)) for t in (grad, indices) if not t.contiguous]
    read = grad.nbytes + indices.nbytes
    main = window(
        "pool", op, grad.numel, 1, read, out.nbytes, variant="adaptive_max_backward",
        threads=_lanes(grad),
    )  # fmt: skip
    last = () if out.contiguous else (copy(out, full_bytes(out)),)
    return *first, fill_like(out), main, *last


def _covering(op: Signature) -> int:
    """Number of windows of an image that cover an input."""
    sides = op.arg("kernel_size")
    sizes = sides, op.arg("stride", []) or sides, op.arg("dilation", 1)
    return prod(starts(*each) for each in zip(*(_each(size, 2) for size in sizes), strict=True))


def _each(sizes: int | list[int], spatial: int) -> list[int]:
    """A size for each dimension, from one size or one per dimension."""
    sizes = [sizes] if isinstance(sizes, int) else sizes
    return sizes if len(sizes) == spatial else sizes * spatial


@cost("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def avg_pool_backward(op: Signature) -> tuple[Work, ...]:
    """Each input gathers the windows that cover it; in 3-d, one thread per output adds to its
    window, which was cleared (AveragePool3d.cu)."""
    grad, out = op["grad_output"], op.out
    if _is_volume(op):
        taps = _window_taps(op, 3)
        return fill_like(out), window(
            "pool", op, grad.numel, taps, grad.nbytes + out.nbytes, out.nbytes,
            variant="average_volumes_backward", threads=_lanes_of_volumes(grad),
        )  # fmt: skip
    taps = max(1, -(-grad.numel * _window_taps(op, spatial_dims(op)) // max(out.numel, 1)))
    return (
        window("pool", op, out.numel, taps, grad.nbytes, out.nbytes, variant="average_backward"),
    )


@cost("aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool_backward(op: Signature) -> tuple[Work, Work]:
    """Write zeros, then the share of each input. If windows overlap, each output adds its share to
    all inputs of its window atomically (AdaptiveAveragePooling.cu)."""
    grad, out = op["grad_output"], op.out
    dims = spatial_dims(op)
    sides = list(zip(out.shape[-dims:], grad.shape[-dims:], strict=True))
    if not channels_last(grad) and any(inputs % outputs for inputs, outputs in sides):
        taps = prod(-(-inputs // outputs) for inputs, outputs in sides)
        main = window(
            "pool", op, grad.numel, taps, grad.nbytes + out.nbytes, out.nbytes,
            variant="adaptive_atomic", threads=_lanes(grad),
            steps=taps * (HALF_ATOMIC if grad.itemsize == 2 else 1),
        )  # fmt: skip
        return fill_like(out), main
    steps = 0 if channels_last(grad) else prod(out.shape[-dims:])  # positions of one plane
    main = window(
        "pool", op, out.numel, 1, grad.nbytes, out.nbytes, variant="adaptive_backward", steps=steps
    )
    return fill_like(out), main


@cost("aten.max_unpool2d.default", "aten.max_unpool3d.default")
def max_unpool(op: Signature) -> tuple[Work, Work]:
    """Write zeros, then write each value at its index."""
    x = op["self"]
    return fill_like(op.out), window(
        "pool", op, x.numel, 1, op.read_bytes, x.nbytes, variant="unpool"
    )
