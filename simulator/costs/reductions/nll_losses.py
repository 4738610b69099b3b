"""Negative log-likelihood losses, which pick one value per row or pixel."""

from __future__ import annotations

from math import log2

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import (
    fill,
    fill_like,
    indexed_access,
    pointwise,
    reduction,
    vector_dtype,
)
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor
from simulator.varying import at_each

_NONE, _MEAN = 0, 1  # at::Reduction


@cost("aten.nll_loss_forward.default", traits=Traits(kind="reduction"))
def nll_loss_forward(op: Signature) -> tuple[Work, ...]:
    """Pick one value per row of [n, classes]: reads n values, whatever the number of classes. A
    loss of each row first clears the sum of weights."""
    x, rows = op["self"], op["target"].numel
    weight = op.get("weight")
    picked = rows * x.itemsize * (2 if weight is not None else 1)
    read = picked + op["target"].nbytes
    if op.arg("reduction", _MEAN) == _NONE:
        return fill(1, x.itemsize), _each_row(x, rows, read, op.write_bytes)
    return (_one_block("forward", x, rows, read, op.write_bytes),)


def _each_row(x: Tensor, rows: int, read: int, write: int) -> Work:
    """The launch of a loss that is not reduced, or its gradient: a thread per row
    (`nll_loss_forward_no_reduce_cuda_kernel`)."""
    return _picking("each", rows, x.numel // max(rows, 1), 1, rows, x, read, write)


def _one_block(direction: str, x: Tensor, rows: int, read: int, write: int) -> Work:
    """The launch of a reduced loss: one block with a thread per 16 rows, at most 1,024 threads
    (ATen/native/cuda/LossNLL.cu, `nll_loss_threads`)."""
    threads = _threads(rows)
    width, steps = x.numel // max(rows, 1), -(-rows // threads)
    return _picking(direction, rows, width, steps, threads, x, read, write)


def _few_blocks(direction: str, x: Tensor, pixels: int, read: int, write: int) -> Work:
    """The launch of a reduced loss of images: blocks of 1,024 threads, one for each image and each
    131,072 of its pixels. Neighbouring threads pick neighbouring values
    (ATen/native/cuda/NLLLoss2d.cu)."""
    each = pixels // max(x.shape[0], 1)
    threads = 1024
    blocks = max(1, -(-each // threads) // 128)
    return _picking(direction, pixels, 1, -(-each // (blocks * threads)), threads, x, read, write)


def _picking(
    direction: str,
    rows: int,
    width: int,
    steps: int,
    threads: int,
    x: Tensor,
    read: int,
    write: int,
) -> Work:
    """Threads that pick one value per row, `width` elements apart, in serial steps."""
    dims = {
        "variant": direction,
        "picks": rows,
        "rows": 1,
        "width": width,
        "steps": steps,
        "threads": threads,
        "itemsize": x.itemsize,
    }
    return Work(
        "nll", 2 * rows, read, write, dtype=vector_dtype(x.dtype), instructions=8 * rows, dims=dims
    )


@at_each
def _threads(rows: int) -> int:
    return min(max(1 << round(log2(max(rows / 16, 1))), 32), 1024)


@cost("aten.nll_loss_backward.default", "aten.nll_loss2d_backward.default")
def nll_loss_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros for the whole gradient, then one value per row."""
    rows, size, weight = op["target"].numel, op.out.itemsize, op.get("weight")
    read = op["grad_output"].nbytes + op["target"].nbytes + size
    read += rows * size if weight is not None else 0
    if op.arg("reduction", _MEAN) == _NONE:
        if "2d" in op.name:
            return fill_like(op.out), indexed_access("scatter", rows, 1, read, rows * size, flops=1)
        return fill_like(op.out), _each_row(op.out, rows, read, rows * size)
    launch = _few_blocks if "2d" in op.name else _one_block
    return fill_like(op.out), launch("backward", op.out, rows, read, rows * size)


@cost("aten.nll_loss2d_forward.default", traits=Traits(kind="reduction"))
def nll_loss2d_forward(op: Signature) -> tuple[Work, ...]:
    """One value per pixel of [n, classes, h, w]; few blocks add to a sum that is cleared first."""
    x, pixels = op["self"], op["target"].numel
    weight = op.get("weight")
    read = pixels * x.itemsize * (2 if weight is not None else 1) + op["target"].nbytes
    if op.arg("reduction", _MEAN) == _NONE:
        return (reduction(1, pixels, read, op.write_bytes, flops=2, dtype=x.dtype),)
    main = _few_blocks("forward", x, pixels, read, op.write_bytes)
    clear = fill(1, x.itemsize)  # the sum, and the weights' sum
    average = pointwise(1, 2 * x.itemsize, x.itemsize, inputs=2)
    launches = (clear, clear, main)
    return (*launches, average) if op.arg("reduction", _MEAN) == _MEAN else launches
