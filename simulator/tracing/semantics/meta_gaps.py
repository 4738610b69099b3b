"""Shape rules for calls that CUDA's kernels support and torch's rules for `meta` reject."""

from __future__ import annotations

import torch
from torch import Tensor

from simulator.tracing.layouts.strides import iterated, layout_of
from simulator.tracing.semantics.registry import Situation, shape_rule

_ROW_ALIGNMENT_BYTES = 16


@shape_rule("_grouped_mm")
def grouped_mm(
    situation: Situation,
    x: Tensor,
    y: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """One product for each group, of any floating-point dtype: torch's rule supports bf16 only,
    CUDA falls back to one product at a time (GroupedMMUtils.h). Rows of the result begin at
    multiples of 16 bytes (`create_grouped_gemm_output_tensor`)."""
    rows, columns = x.shape[-2], y.shape[-1]
    groups: tuple[int, ...] = ()
    if x.dim() == y.dim() == 3:
        groups = (x.shape[0],)
    elif x.dim() == y.dim() == 2 and offs is not None:
        groups = (offs.shape[0],)
    inner = (x.shape[-1], y.shape[-2])
    if inner[0] != inner[1] and not x.dim() == y.dim() == 2:
        raise RuntimeError(f"contraction dimensions of mat_a and mat_b must match: {inner}")
    dtype = out_dtype or x.dtype
    multiple = max(1, _ROW_ALIGNMENT_BYTES // dtype.itemsize)
    row = -(-columns // multiple) * multiple
    strides = (rows * row, row, 1)[-2 - len(groups) :]
    return x.new_empty_strided((*groups, rows, columns), strides, dtype=dtype)


@shape_rule("mish_backward")
def mish_backward(situation: Situation, grad_output: Tensor, x: Tensor) -> Tensor:
    """One kernel on CUDA; for `meta`, torch differentiates the formula."""
    strides = iterated([layout_of(grad_output), layout_of(x)])
    return x.new_empty_strided(x.shape, strides)


@shape_rule("masked_fill.Tensor")
def masked_fill(situation: Situation, x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """`value` has no dimension and may be on the CPU. The result is row-major
    (TensorAdvancedIndexing.cpp)."""
    _check_value(value)
    return x.new_empty(torch.broadcast_shapes(x.shape, mask.shape))


@shape_rule("masked_fill_.Tensor")
def masked_fill_(situation: Situation, x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """`masked_fill`, in place."""
    _check_value(value)
    if torch.broadcast_shapes(x.shape, mask.shape) != x.shape:
        raise RuntimeError(f"a mask of {list(mask.shape)} does not broadcast to {list(x.shape)}")
    return x


def _check_value(value: Tensor) -> None:
    if value.dim() != 0:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.dim()} dimension(s)."
        )
