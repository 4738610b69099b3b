"""Losses. A reduced elementwise loss is two kernels: the terms, then their sum."""

from __future__ import annotations

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.launches import (
    fill,
    fill_like,
    from_host,
    pointwise,
    reduction,
    vector_dtype,
)
from simulator.costs.reductions.dimensions import total
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

_NONE, _MEAN = 0, 1  # at::Reduction
_SPECIAL = 10
"""Instructions of an exponential or a logarithm."""


def pointwise_terms(
    op: Signature, n: int, flops: int, read: int, write: int, specials: int = 0
) -> Work:
    """`flops` for each of n elements; `specials` of them are exponentials or logarithms."""
    slots = flops + (_SPECIAL - 1) * specials
    inputs = max(1, read // max(write, 1))
    return pointwise(n, read, write, flops=flops, slots=slots, inputs=inputs, dtype=op.out.dtype)


def _sum(x: Tensor, n: int) -> Work:
    """Sum of n values of x's dtype."""
    return total(n, x.dtype)


def _reduced(op: Signature, flops: int, specials: int = 0) -> tuple[Work, ...]:
    x = op["self"]
    terms = pointwise_terms(op, x.numel, flops, op.read_bytes, x.numel * x.itemsize, specials)
    return (terms,) if op.arg("reduction", _MEAN) == _NONE else (terms, _sum(x, x.numel))


@cost("aten.mse_loss.default", traits=Traits(autocast="float32"))
def mse_loss(op: Signature) -> tuple[Work, ...]:
    """(x - y)²: 2 FLOPs per element."""
    return _reduced(op, 2)


@cost("aten.smooth_l1_loss.default", "aten.huber_loss.default", traits=Traits(autocast="float32"))
def smooth_l1_loss(op: Signature) -> tuple[Work, ...]:
    """Difference, absolute value, comparison, and one of two 2-FLOP branches: 5 FLOPs per
    element."""
    return _reduced(op, 5)


@cost(
    "aten.mse_loss_backward.default",
    "aten.smooth_l1_loss_backward.default",
    "aten.huber_loss_backward.default",
)
def elementwise_loss_backward(op: Signature) -> tuple[Work, Work]:
    """Zeros (`zeros_like`, in Loss.cpp), then the gradient written over them.

    Difference, scaling, gradient: 3 FLOPs; two more comparisons for losses with branches.
    """
    n = op["self"].numel
    flops = 3 if "mse" in op.name else 5
    return fill_like(op.out), pointwise_terms(op, n, flops, op.read_bytes, op.out.nbytes)


@cost("aten.binary_cross_entropy.default")
def binary_cross_entropy(op: Signature) -> tuple[Work, ...]:
    """(y - 1)·max(log(1 - x), -100) - y·max(log x, -100): 2 logarithms and 7 others."""
    x, weight = op["self"], op.get("weight")
    full = x.numel * x.itemsize
    terms = pointwise_terms(op, x.numel, 9, x.nbytes + op["target"].nbytes, full, specials=2)
    weighting = _weighting(op, x, weight)
    if op.arg("reduction", _MEAN) == _NONE:
        return terms, *weighting
    return terms, *weighting, _sum(x, x.numel)


@cost("aten.binary_cross_entropy_backward.default")
def binary_cross_entropy_backward(op: Signature) -> tuple[Work, ...]:
    """g·(x - y) / max((1 - x)·x, ε), 6 FLOPs per element; another kernel divides a mean by n."""
    x, n = op["self"], op["self"].numel
    full = n * x.itemsize
    read = op["grad_output"].nbytes + x.nbytes + op["target"].nbytes
    main = pointwise_terms(op, n, 6, read, full)
    divide = (pointwise_terms(op, n, 1, full, full),) if op.arg("reduction", _MEAN) == _MEAN else ()
    return main, *_weighting(op, x, op.get("weight")), *divide


def _weighting(op: Signature, x: Tensor, weight: Tensor | None) -> tuple[Work, ...]:
    if weight is None:
        return ()
    full = x.numel * x.itemsize
    return (pointwise_terms(op, x.numel, 1, full + weight.nbytes, full),)


@cost("aten.binary_cross_entropy_with_logits.default", traits=Traits(autocast="float32"))
def bce_with_logits(op: Signature) -> tuple[Work, ...]:
    """(1 - y)·x - w·log sigmoid(x), op by op as in Loss.cpp.

    One kernel each for log sigmoid, the scalar 1, 1 - y, the product and the difference.
    `pos_weight` adds four kernels: pos_weight - 1, times y, plus 1, and its product with log
    sigmoid.
    """
    x, n = op["self"], op["self"].numel
    full = n * x.itemsize
    unary, binary = pointwise_terms(op, n, 1, full, full), pointwise_terms(op, n, 1, 2 * full, full)
    log_sigmoid = pointwise_terms(op, n, 5, full, full, specials=2)  # min(0, x) - log1p(exp(-|x|))
    positive: tuple[Work, ...] = ()
    if pos := op.get("pos_weight"):
        small = pointwise_terms(op, pos.numel, 1, pos.nbytes, pos.nbytes)
        scaled = pointwise_terms(op, n, 1, pos.nbytes + full, full)
        positive = (small, scaled, unary, binary)
    product = (log_sigmoid, *positive, fill(1, x.itemsize), binary, binary, binary)
    launches = (*product, *_weighting(op, x, op.get("weight")))
    return launches if op.arg("reduction", _MEAN) == _NONE else (*launches, _sum(x, n))


@cost("aten.soft_margin_loss.default", traits=Traits(autocast="float32"))
def soft_margin_loss(op: Signature) -> tuple[Work, ...]:
    """log(1 + exp(-y·x)) op by op: neg, product, exp, log1p, and the sum (Loss.cpp)."""
    x, n = op["self"], op["self"].numel
    full = n * x.itemsize
    unary, special = (
        pointwise_terms(op, n, 1, full, full),
        pointwise_terms(op, n, 1, full, full, specials=1),
    )
    launches = (unary, pointwise_terms(op, n, 1, 2 * full, full), special, special)
    return launches if op.arg("reduction", _MEAN) == _NONE else (*launches, _sum(x, n))


@cost("aten.soft_margin_loss_backward.default")
def soft_margin_loss_backward(op: Signature) -> tuple[Work, ...]:
    """-y·z / (1 + z) · g with z = exp(-y·x), op by op (Loss.cpp).

    A negation, y·x, exp, y·z, its negation, 1 + z, the division, a mean's division by n, and the
    product with g.
    """
    n, full = op["self"].numel, op["self"].numel * op["self"].itemsize
    unary, binary = pointwise_terms(op, n, 1, full, full), pointwise_terms(op, n, 1, 2 * full, full)
    mean = (unary,) if op.arg("reduction", _MEAN) == _MEAN else ()
    exp = pointwise_terms(op, n, 1, full, full, specials=1)
    return unary, binary, exp, binary, unary, unary, binary, *mean, binary


@cost("aten.multi_margin_loss.default", traits=Traits(autocast="float32"))
@cost(
    "aten.multilabel_margin_loss_forward.default",
    "aten.multi_margin_loss_backward.default",
    "aten.multilabel_margin_loss_backward.default",
)
def margin_loss(op: Signature) -> tuple[Work, ...]:
    """One block per row: margin, comparison and sum for each class; then the sum over rows."""
    x = op["self"]
    n, rows = x.numel, x.shape[0] if len(x.shape) > 1 else 1
    backward = "backward" in op.name
    write = op.write_bytes if backward else rows * x.itemsize
    cols = n // max(rows, 1)
    main = reduction(rows, cols, op.read_bytes, write, flops=4, dtype=x.dtype)
    if backward or op.arg("reduction", _MEAN) == _NONE or len(x.shape) == 1:
        return (main,)
    return main, _sum(x, rows)


@cost(
    "aten._ctc_loss.default",
    "aten._ctc_loss.Tensor",
    "aten._cudnn_ctc_loss.default",
    "aten._cudnn_ctc_loss.Tensor",
)
def ctc_loss(op: Signature) -> tuple[Work, ...]:
    """Alpha [n, steps, 2·length + 1], three exponentials and a logarithm each. A block computes one
    step of its sample after another (LossCTC.cu), so the time is that of a chain of steps.

    Three arrays of lengths and offsets are copied to the GPU first.
    """
    x, targets = op["log_probs"], op["targets"]
    steps, b = x.shape[:2]
    longest = max(op.arg("target_lengths", [0])) or targets.numel // max(b, 1)
    cells = b * steps * (2 * longest + 1)
    sent = from_host(8 * b)
    main = Work(
        "scan",
        10 * cells,
        cells * x.itemsize + targets.nbytes,
        (cells + b) * x.itemsize,
        dtype=vector_dtype(x.dtype),
        instructions=cells * (10 + 4 * (_SPECIAL - 1)),
        dims=_chain(b, steps, 2 * longest + 1),
    )
    return sent, sent, sent, main


def _chain(samples: int, steps: int, states: int) -> dict[str, int | str]:
    return {"variant": "ctc", "samples": samples, "steps": steps, "states": states}


@cost("aten._ctc_loss_backward.default", "aten._ctc_loss_backward.Tensor")
def ctc_loss_backward(op: Signature) -> tuple[Work, ...]:
    """Beta, like alpha in the forward pass, then the gradient of each log
    probability."""
    x, alpha = op["log_probs"], op["log_alpha"]
    b, full, table = alpha.shape[0], x.numel * x.itemsize, alpha.nbytes
    sent = from_host(8 * b)
    beta = Work(
        "scan",
        10 * alpha.numel,
        table + op["targets"].nbytes,
        table,
        dtype=vector_dtype(x.dtype),
        instructions=alpha.numel * (10 + 4 * (_SPECIAL - 1)),
        dims=_chain(*alpha.shape),
    )
    collect = pointwise_terms(op, x.numel, 4, full + 2 * table, full, specials=2)
    return sent, sent, sent, fill_like(x), fill_like(alpha), beta, collect
