"""Strides that ATen gives to a new tensor, from the layouts of its operands.

A dimension of size 1 may have any stride, but the memory format that later convolutions take
depends on it (`suggest_memory_format`). A layout is a pair of sizes and strides, in elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import prod

import torch
from torch._prims_common import suggest_memory_format

Layout = tuple[tuple[int, ...], tuple[int, ...]]
_CHANNELS_LAST = (1, 3, 2, 0)
"""Dimensions of an image [N, C, H, W] in channels last, innermost first."""


def layout_of(tensor: torch.Tensor) -> Layout:
    """The sizes and strides of a tensor."""
    return tuple(tensor.shape), tuple(tensor.stride())


def packed(shape: Sequence[int], inner_first: Sequence[int] | None = None) -> tuple[int, ...]:
    """Strides without gaps. `inner_first` orders the dimensions; the default is row-major."""
    strides, step = [0] * len(shape), 1
    for dim in inner_first or _row_major(len(shape)):
        strides[dim] = step
        step *= max(1, shape[dim])
    return tuple(strides)


def preserved(layout: Layout) -> tuple[int, ...]:
    """The strides of `empty_like`: the same if the elements have no gaps, else in the same order
    without gaps (`infer_dense_strides`, ATen/ExpandUtils.cpp)."""
    shape, strides = layout
    return strides if _is_dense(layout) else packed(shape, _sorted_dims(shape, [strides]))


def iterated(operands: Sequence[Layout]) -> tuple[int, ...]:
    """The strides that TensorIterator gives to the result of elementwise operands, which are
    broadcast (ATen/TensorIterator.cpp, `compute_fast_setup_type`, `reorder_dimensions`). A number
    among the operands is a tensor without dimensions."""
    shape = tuple(torch.broadcast_shapes(*(sizes for sizes, _ in operands)))
    row_major = _row_major(len(shape))
    if all(sizes == shape for sizes, _ in operands):
        if all(_is_packed(operand, row_major) for operand in operands):
            return packed(shape)
        if len(shape) == 4 and all(_is_packed(operand, _CHANNELS_LAST) for operand in operands):
            return packed(shape, _CHANNELS_LAST)
        strides = operands[0][1]
        if _is_dense(operands[0]) and all(other == strides for _, other in operands):
            return strides
    return packed(shape, _sorted_dims(shape, [_broadcast(operand, shape) for operand in operands]))


def suggested(layout: Layout) -> tuple[int, ...]:
    """Strides without gaps in the memory format of a tensor (`suggest_memory_format`)."""
    like = torch.empty_strided(*layout, device="meta")
    return torch.empty(layout[0], memory_format=suggest_memory_format(like), device="meta").stride()


def _row_major(dims: int) -> tuple[int, ...]:
    """The dimensions of a row-major tensor, innermost first."""
    return tuple(range(dims - 1, -1, -1))


def _is_packed(layout: Layout, inner_first: Sequence[int]) -> bool:
    """Whether the dimensions of more than one element have no gaps in this order
    (`is_contiguous`)."""
    shape, strides = layout
    step = 1
    for dim in inner_first:
        if shape[dim] != 1 and strides[dim] != step:
            return False
        step *= shape[dim]
    return True


def _is_dense(layout: Layout) -> bool:
    """Whether there are no gaps in some order (`is_non_overlapping_and_dense`)."""
    shape, strides = layout
    wide = [dim for dim, size in enumerate(shape) if size != 1]
    return prod(shape) == 0 or _is_packed(layout, sorted(wide, key=lambda dim: strides[dim]))


def _broadcast(layout: Layout, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an operand in the dimensions of the result, 0 where it is repeated."""
    pairs = zip_longest(reversed(shape), reversed(layout[0]), reversed(layout[1]), fillvalue=0)
    return tuple(step if size == own else 0 for size, own, step in pairs)[::-1]


def _sorted_dims(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions by stride, innermost first; the first operand that tells two dimensions apart
    decides. The comparisons are not transitive, so the insertion sort of ATen must be repeated
    exactly."""
    dims = list(_row_major(len(shape)))
    for first in range(1, len(dims)):
        place = first
        for before in range(first - 1, -1, -1):
            comparison = _compare(dims[before], dims[place], shape, operands)
            if comparison > 0:
                dims[before], dims[place] = dims[place], dims[before]
                place = before
            elif comparison < 0:
                break
    return dims


def _compare(a: int, b: int, shape: Sequence[int], operands: Sequence[Sequence[int]]) -> int:
    """1 if dimension `a` belongs outside `b`, −1 if inside, 0 if no operand says."""
    for strides in operands:
        if strides[a] == 0 or strides[b] == 0:
            continue
        if strides[a] != strides[b]:
            return 1 if strides[a] > strides[b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0
