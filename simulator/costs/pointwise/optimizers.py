"""Fused optimizers and the gradient scaler, whose kernels belong to the family "foreach"."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.kernels.elementwise import read_of
from simulator.costs.pointwise.foreach import multi_tensor_work
from simulator.costs.registry import Work, cost
from simulator.records import Signature

_ADAM = (15, 36)
"""FLOPs per element: weight decay 2, first moment 3, second moment 4, root / correction + eps 3,
step·m over this denominator 3; 15 in all, with 2 divisions and a root."""


@cost(
    "aten._fused_adamw_.default",
    "aten._fused_adamw_.tensor_lr",
    "aten._fused_adam_.default",
    "aten._fused_adam_.tensor_lr",
)
def fused_adam(op: Signature) -> Work:
    """One pass over parameters, gradients, two moments and, with amsgrad, the maximum of the
    second. The gradients are written back only if a scaler unscales them
    (ATen/native/cuda/fused_adam_utils.cuh)."""
    amsgrad = bool(op.arg("amsgrad", False))
    written = ["self", "exp_avgs", "exp_avg_sqs"]
    written += ["max_exp_avg_sqs"] * amsgrad + ["grads"] * ("grad_scale" in op.names)
    numels = [t.numel for t in op.tensors("self")]
    steps = (_ADAM[0] + amsgrad, _ADAM[1] + amsgrad)
    return multi_tensor_work(op, steps, written, 4 + amsgrad, numels, "fused")


@cost("aten._fused_sgd_.default", "aten._fused_sgd_.tensor_lr")
def fused_sgd(op: Signature) -> Work:
    """FLOPs: weight decay 2, momentum 3 (Nesterov 2 more), update 2. The momentum of the first step
    is the gradient itself and is only written (ATen/native/cuda/FusedSgdKernel.cu)."""
    momentum = "momentum_buffer_list" in op.names
    flops = 2 + 2 * (op.arg("weight_decay", 0) != 0) + 2 * bool(op.arg("nesterov", False))
    flops += 3 * (momentum and not op.arg("is_first_step", False))
    written = ["self", "momentum_buffer_list"] + ["grads"] * ("grad_scale" in op.names)
    numels = [t.numel for t in op.tensors("self")]
    work = multi_tensor_work(op, (flops, flops), written, 2 + momentum, numels, "fused")
    if op.arg("is_first_step", False):
        read = [name for name in op.names if name != "momentum_buffer_list"]
        work = replace(work, read_bytes=read_of(op, *read))
    return work


@cost("aten._fused_adagrad_.default", "aten._fused_adagrad_.tensor_lr")
def fused_adagrad(op: Signature) -> Work:
    """FLOPs: weight decay 2, sum of squares 2, root + eps 2, step·g over this denominator 3."""
    numels = [t.numel for t in op.tensors("self")]
    return multi_tensor_work(op, (9, 30), ("self", "state_sums"), 3, numels, "fused")


@cost("aten._amp_foreach_non_finite_check_and_unscale_.default")
def unscale(op: Signature) -> Work:
    """Check and multiply every gradient (ATen/native/cuda/AmpKernels.cu)."""
    numels = [t.numel for t in op.tensors("self")]
    return multi_tensor_work(op, (2, 4), ("self",), 1, numels)


@cost("aten._amp_update_scale_.default")
def update_scale(op: Signature) -> Work:
    """One thread computes the next scale."""
    return Work(
        "pointwise",
        2,
        op.read_bytes,
        8,
        instructions=10,
        dims={"elements": 1, "inputs": 3, "contiguous": True},
    )
