"""Pooling: one kernel over the outputs, or over the inputs in the backward pass.

A backward pass that adds with atomics clears its result first. Files are those of ATen/native/cuda.
"""

from __future__ import annotations

from math import prod

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import fill_like
from simulator.costs.registry import Work, cost
from simulator.costs.spatial.windows import channels_last, covered_bytes, spatial_dims, window
from simulator.records import Signature


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
    variant = "max" if "max" in op.name else "average"
    if op.name == "aten.max_pool2d_with_indices.default" and channels_last(x):
        variant = "max_last"  # a separate kernel (DilatedMaxPool2d.cu, `max_pool_forward_nhwc`)
    read = covered_bytes(x, out, taps)
    return window("pool", op, out.numel, taps, read, op.write_bytes, variant=variant)


@cost("aten._adaptive_avg_pool2d.default", traits=Traits(kind="pointwise"))
@cost(
    "aten.adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_max_pool2d.default",
    "aten.adaptive_max_pool3d.default",
)
def adaptive_pool(op: Signature) -> Work:
    """Windows that together cover the input: about in / out values per window."""
    x, out = op["self"], op.out
    taps = -(-x.numel // max(out.numel, 1))
    return window(
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
    """Write zeros, then add each gradient at the index of its maximum: one thread per input
    (DilatedMaxPool2d.cu)."""
    grad, out = op["grad_output"], op.out
    read = grad.nbytes + op["indices"].nbytes
    main = window(
        "pool", op, grad.numel, 1, read, out.nbytes, variant="max_backward", threads=out.numel
    )
    return fill_like(out), main


@cost("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def avg_pool_backward(op: Signature) -> tuple[Work, ...]:
    """Each input gathers the windows that cover it; in 3-d, windows are added to zeros
    (AveragePool3d.cu)."""
    grad, out = op["grad_output"], op.out
    taps = max(1, -(-grad.numel * _window_taps(op, spatial_dims(op)) // max(out.numel, 1)))
    main = window("pool", op, out.numel, taps, grad.nbytes, out.nbytes, variant="average_backward")
    return (fill_like(out), main) if "3d" in op.name else (main,)


@cost("aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool_backward(op: Signature) -> tuple[Work, Work]:
    """Write zeros, then the share of each input (AdaptiveAveragePooling.cu, `zeros_like`)."""
    grad, out = op["grad_output"], op.out
    steps = (
        0 if channels_last(grad) else prod(out.shape[-spatial_dims(op) :])
    )  # positions of one plane
    main = window(
        "pool", op, out.numel, 1, grad.nbytes, out.nbytes, variant="adaptive_backward", steps=steps
    )
    return fill_like(out), main


@cost("aten.max_unpool2d.default", "aten.max_unpool3d.default")
def max_unpool(op: Signature) -> tuple[Work, Work]:
    """Write zeros, then write each value at its index."""
    x = op["self"]
    return fill_like(op.out), window("pool", op, x.numel, 1, op.read_bytes, x.nbytes)
