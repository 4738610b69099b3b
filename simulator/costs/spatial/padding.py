"""Sliding windows as columns, and mirrored padding."""

from __future__ import annotations

from simulator.costs.kernels.launches import fill_like
from simulator.costs.registry import Work, cost
from simulator.costs.spatial.windows import window
from simulator.records import Signature


@cost("aten.im2col.default")
def im2col(op: Signature) -> tuple[Work, ...]:
    """Columns of windows, one kernel per sample of the batch (Im2Col.cu)."""
    x, out = op["self"], op.out
    n = x.shape[0] if len(x.shape) == 4 else 1
    if out.numel == 0:
        return ()
    sample = window("copy", op, out.numel // n, 0, x.nbytes // n, out.nbytes // n)
    return (sample,) * n


@cost("aten.col2im.default")
def col2im(op: Signature) -> Work:
    """Each pixel is the sum of the windows that cover it: one kernel for the batch (Col2Im.cu)."""
    x, out = op["self"], op.out
    taps = max(1, -(-x.numel // max(out.numel, 1)))
    return window("pool", op, out.numel, taps, x.nbytes, out.nbytes)


@cost("aten.unfold_backward.default")
def unfold_backward(op: Signature) -> tuple[Work, Work]:
    """Write zeros, then add to each element the windows that contain it."""
    grad = op["grad_in"]
    return fill_like(op.out), window("pool", op, grad.numel, 1, grad.nbytes, op.out.nbytes)


_PADS = tuple(f"{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3))


@cost(*(f"aten.{name}.default" for name in _PADS))
def pad(op: Signature) -> Work:
    """Each output copies one element of the input."""
    x, out = op["self"], op.out
    return window("copy", op, out.numel, 0, x.nbytes, out.nbytes)


@cost(*(f"aten.{name}_backward.default" for name in _PADS))
def pad_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros, then each gradient added to its source element."""
    grad, out = op["grad_output"], op.out
    main = window("scatter", op, grad.numel, 1, grad.nbytes + out.nbytes, out.nbytes)
    return fill_like(out), main
