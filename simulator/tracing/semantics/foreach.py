"""In-place updates of lists of tensors; torch checks the lists tensor by tensor, in Python.

Lists of equal shapes and floating-point dtypes need no check, and an update returns nothing
(other lists take the path `foreach_tensor_*_slow_` of ATen/native/ForeachOpsKernels.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from simulator.tracing.semantics.registry import Situation, shape_rule

Tensors = Sequence[Tensor]


@shape_rule("_foreach_addcdiv_.ScalarList")
def addcdiv(
    situation: Situation, x: Tensors, over: Tensors, under: Tensors, scalars: Sequence[float]
) -> None:
    """x += scalars · over / under."""
    if not _alike(x, over, under):
        for tensor, a, b, scalar in zip(x, over, under, scalars, strict=True):
            tensor.addcdiv_(a, b, value=scalar)


@shape_rule("_foreach_addcmul_.Scalar")
def addcmul(situation: Situation, x: Tensors, a: Tensors, b: Tensors, value: float = 1.0) -> None:
    """x += value · a · b."""
    if not _alike(x, a, b):
        for tensor, factor, other in zip(x, a, b, strict=True):
            tensor.addcmul_(factor, other, value=value)


@shape_rule("_foreach_lerp_.Scalar")
def lerp(situation: Situation, x: Tensors, ends: Tensors, weight: float) -> None:
    """x += weight · (ends − x)."""
    if not _alike(x, ends):
        for tensor, end in zip(x, ends, strict=True):
            tensor.lerp_(end, weight)


def _alike(first: Tensors, *others: Tensors) -> bool:
    """Whether lists hold floating-point tensors of the same shapes and dtypes.

    Raises RuntimeError, as torch does, if their lengths differ.
    """
    for other in others:
        if len(other) != len(first):
            raise RuntimeError(
                "Tensor lists must have the same number of tensors, "
                f"got {len(first)} and {len(other)}"
            )
    return all(
        row[0].is_floating_point()
        and all(t.shape == row[0].shape and t.dtype == row[0].dtype for t in row)
        for row in zip(first, *others, strict=True)
    )
