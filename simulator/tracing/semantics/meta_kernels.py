"""Shapes of CUDA ops for which torch has no rule on `meta`, or another one."""

from __future__ import annotations

import torch
from torch import Tensor

from simulator.tracing.layouts.strides import layout_of, preserved
from simulator.tracing.semantics.registry import Situation, shape_rule


@shape_rule("empty_like")
def empty_like(
    situation: Situation,
    x: Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> Tensor:
    """The strides of `x` if its elements have no gaps; torch's rule for `meta` changes those of
    dimensions of size 1. Other ops that create such tensors call this one."""
    dtype, device = dtype or x.dtype, device or x.device
    if memory_format in (None, torch.preserve_format):
        strides = preserved(layout_of(x))
        return torch.empty_strided(
            x.shape, strides, dtype=dtype, layout=layout or x.layout, device=device
        )
    return torch.empty(
        x.shape, dtype=dtype, layout=layout or x.layout, device=device, memory_format=memory_format
    )


@shape_rule("multi_margin_loss_backward")
@shape_rule("multilabel_margin_loss_backward")
@shape_rule("fractional_max_pool3d_backward")
@shape_rule("_ctc_loss_backward")
@shape_rule("_ctc_loss_backward.Tensor")
def gradient(situation: Situation, grad: Tensor, x: Tensor, *args: object) -> Tensor:
    """The gradient of `x`, in its shape."""
    return torch.empty_like(x)


@shape_rule("_ctc_loss.Tensor")
def ctc_loss(
    situation: Situation, log_probs: Tensor, targets: Tensor, *args: object, **options: object
) -> tuple[Tensor, Tensor]:
    """The losses [B], and log α [B, T, 2·S + 1]. S, the largest number of labels of a sample,
    depends on data. It is assumed to be the number of columns of `targets`, or for concatenated
    targets their mean length (ATen/native/cuda/LossCTC.cu)."""
    times, batch = log_probs.shape[:2]
    labels = targets.shape[1] if targets.dim() == 2 else -(-targets.numel() // max(1, batch))
    return log_probs.new_empty(batch), log_probs.new_empty(batch, times, 2 * labels + 1)


@shape_rule("geqrf")
def geqrf(situation: Situation, x: Tensor) -> tuple[Tensor, Tensor]:
    """Reflectors in the shape of the input, in column-major order, and their scales."""
    *batch, rows, columns = x.shape
    return x.new_empty(*batch, columns, rows).mT, x.new_empty(*batch, min(rows, columns))


@shape_rule("linalg_lstsq.out")
def lstsq(
    situation: Situation,
    a: Tensor,
    b: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    solution: Tensor,
    residuals: Tensor,
    rank: Tensor,
    singular_values: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The outputs without rank and singular values: CUDA's only driver, gels, does not compute
    these (ATen/native/BatchLinearAlgebra.cpp)."""
    *batch, rows, columns = a.shape
    of_vectors = b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])
    sides = () if of_vectors else (b.shape[-1],)
    solution.resize_([*batch, columns, *sides])
    residuals.resize_([*batch, *sides] if rows > columns else [0])
    rank.resize_([0])
    singular_values.resize_([0])
    return solution, residuals, rank, singular_values
