"""Sliding windows as columns, and mirrored padding."""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import copy, fill_like, full_bytes, index_range, memcpy
from simulator.costs.registry import Work, cost
from simulator.costs.spatial.windows import spatial_dims, starts, window
from simulator.records import Signature, Tensor

_BLOCK, _WARP = 256, 32
_COLUMN_SLOTS, _PIXEL_SLOTS, _COPY_SLOTS = 16, 120, 40
"""Instructions for each element of a column, for each window that covers a pixel, and for each
padded element: mostly arithmetic of 64-bit indices. Only their order of magnitude matters, since
each curve has a fitted share of the issue rate."""


@cost("aten.im2col.default", traits=Traits(kind="pointwise"))
def im2col(op: Signature) -> tuple[Work, ...]:
    """Columns of windows, one kernel per sample of the batch, each thread of which copies one
    window of a channel (im2col.cuh). The result is allocated with the size of the image and then
    resized: a larger one keeps the contents, uninitialised as they are (Im2Col.cu)."""
    x, out = op["self"], op.out
    if out.numel == 0:
        return ()
    samples = x.shape[0] if len(x.shape) == 4 else 1
    taps = prod(op.arg("kernel_size"))
    sample = window(
        "unfold", op, out.numel // samples // taps, taps, x.nbytes // samples,
        out.nbytes // samples, slots=_COLUMN_SLOTS, serial=taps,
    )  # fmt: skip
    enlarged = (memcpy(x.nbytes, x.nbytes),) if out.nbytes > x.nbytes else ()
    return *enlarged, *(sample,) * samples


@cost("aten.col2im.default", traits=Traits(kind="pointwise"))
def col2im(op: Signature) -> Work:
    """Each pixel is the sum of the windows that cover it: one kernel for the batch, whose threads
    divide 64-bit indices in each step (im2col.cuh)."""
    x, out = op["self"], op.out
    sizes = op.arg("kernel_size"), op.arg("stride"), op.arg("dilation", [1, 1])
    covering = prod(starts(*each) for each in zip(*sizes, strict=True))
    return window(
        "fold", op, out.numel, covering, x.nbytes, out.nbytes, slots=_PIXEL_SLOTS, serial=covering
    )


@cost("aten.unfold_backward.default", traits=Traits(kind="pointwise"))
def unfold_backward(op: Signature) -> tuple[Work, ...]:
    """Write zeros and the positions along the dimension, then add to each element the windows that
    contain it, one after another (UnfoldBackwardKernel.cu)."""
    grad, out = op["grad_in"], op.out
    size, step = op.arg("size"), op.arg("step")
    dim: int = op.arg("dim")
    covering = max(1, -(-size // step))
    threads = out.numel if step < size else grad.numel
    add = window(
        "unfold", op, threads, covering, grad.nbytes + out.nbytes, out.nbytes,
        slots=_PIXEL_SLOTS, variant="backward", serial=covering,
    )  # fmt: skip
    return fill_like(out), index_range(out.shape[dim] if out.shape else 1), add


_PADS = tuple(f"{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3))


@cost(*(f"aten.{name}.default" for name in _PADS))
def pad(op: Signature) -> tuple[Work, ...]:
    """Each thread copies one element of a plane (ReflectionPad.cu, ReplicationPadding.cu);
    reflection first copies an image that is not contiguous."""
    x, out = op["self"], op.out
    first = () if x.contiguous or "replication" in op.name else (copy(x, full_bytes(x)),)
    return *first, _mirrored("mirrored", op, out, x.nbytes, out.nbytes)


@cost(*(f"aten.{name}_backward.default" for name in _PADS))
def pad_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros, then each gradient added to its source element (ReflectionPad.cu)."""
    grad, out = op["grad_output"], op.out
    read, write = grad.nbytes + out.nbytes, out.nbytes
    return fill_like(out), _mirrored("mirrored_backward", op, grad, read, write)


def _mirrored(variant: str, op: Signature, padded: Tensor, read: int, write: int) -> Work:
    """One thread per element of a padded plane, in blocks of at most 256 threads, which do not
    cross planes."""
    plane = max(1, prod(padded.shape[-spatial_dims(op) :]))
    blocks = padded.numel // plane * -(-plane // _BLOCK)
    threads = blocks * min(_BLOCK, -(-plane // _WARP) * _WARP)
    kernel = window("padding", op, threads, 1, read, write, slots=_COPY_SLOTS, variant=variant)
    return replace(kernel, flops=0, dims={**kernel.dims, "blocks": blocks})
