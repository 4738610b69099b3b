"""Strides of results that CUDA's kernels lay out otherwise than torch's rules for `meta` tensors.

torch's rules for most elementwise ops are written in Python (torch/_prims_common). They order
dimensions of size 1 otherwise than TensorIterator does, and for some ops all dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import torch

from simulator.tracing.layouts.strides import (
    Layout,
    iterated,
    layout_of,
    packed,
    preserved,
    suggested,
)

_Rule = Callable[[Sequence[Layout], Sequence[int]], tuple[int, ...]]
"""The strides of a result, from the operands of the call and the result's sizes."""

_ELEMENTWISE = frozenset(
    """
    complex elu_backward floor_divide floor_divide.Scalar hardsigmoid_backward hardswish
    hardswish_backward hardtanh_backward leaky_relu_backward polar silu_backward softplus_backward
    """.split()
)
"""Elementwise ops that torch does not tag as such."""

_SECOND_FIRST = frozenset({"leaky_relu_backward", "threshold_backward"})
"""Elementwise ops whose second argument is TensorIterator's first operand."""

_ROW_MAJOR = frozenset(
    """
    _log_softmax _log_softmax_backward_data _softmax_backward_data masked_fill.Scalar
    mse_loss_backward native_layer_norm native_layer_norm_backward pow.Scalar
    smooth_l1_loss_backward tril triu
    """.split()
)
"""Ops whose results are row-major for every layout of the operands."""

_LIKE_FIRST = frozenset(
    """
    _conj_physical _prelu_kernel deg2rad frexp.Tensor hardtanh log_sigmoid_backward nan_to_num
    native_dropout rad2deg
    """.split()
)
"""Ops that create their results by `empty_like` of the first argument."""

_OTHERS = frozenset({"clone", "ldexp.Tensor", "mvlgamma"})
"""Ops that torch tags as elementwise although they call others, or copy without TensorIterator."""

_PARAMETERS = frozenset({"lerp.Scalar", "pow.Tensor_Scalar"})
"""Ops whose number is a parameter of the kernel; in other overloads for numbers, such as
"add.Scalar", it is an operand."""


def laid_out_by_cuda(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> Any:
    """The result of `func` on `meta` tensors, with the strides that CUDA's kernel gives it."""
    rule = _rule(func)
    if rule is None:
        return result
    operands = list(_operands(func, args, kwargs))
    if isinstance(result, tuple):
        return tuple(t if t is None else _with_strides(t, operands, rule) for t in result)
    return _with_strides(result, operands, rule)


def _with_strides(tensor: torch.Tensor, operands: Sequence[Layout], rule: _Rule) -> torch.Tensor:
    if not tensor.numel():
        return tensor
    strides = rule(operands, tensor.shape)
    if strides == tensor.stride():
        return tensor
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)


@cache
def _rule(func: Any) -> _Rule | None:
    """The rule of an op; None if torch's rule for `meta` holds."""
    schema = func._schema
    if func.namespace != "aten" or any(value.alias_info for value in schema.arguments):
        return None
    if any(str(value.type) != "Tensor" for value in schema.returns):
        return None
    name = func.name().removeprefix("aten::")
    if name in _ROW_MAJOR:
        return lambda operands, shape: packed(shape)
    if name in _LIKE_FIRST:
        return lambda operands, shape: preserved(operands[0])
    if name == "native_dropout_backward":  # ATen/native/cuda/Dropout.cu
        return lambda operands, shape: suggested(operands[0])
    if name == "native_batch_norm_backward":  # ATen/native/cuda/Normalization.cuh
        return lambda operands, shape: suggested(operands[1]) if len(shape) > 1 else packed(shape)
    if name in _OTHERS or not (torch.Tag.pointwise in func.tags or name in _ELEMENTWISE):
        return None
    if name in _SECOND_FIRST:
        return lambda operands, shape: iterated([operands[1], operands[0]])
    return lambda operands, shape: iterated(operands)


def _operands(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Layout]:
    """The layouts of the tensors of a call in the order of its schema, and of the numbers that
    become tensors."""
    kinds = {"Tensor", "number"} if _takes_numbers(func) else {"Tensor"}
    for place, argument in enumerate(func._schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        if isinstance(value, torch.Tensor):
            yield layout_of(value)
        elif isinstance(value, int | float | complex) and str(argument.type) in kinds:
            yield (), ()


@cache
def _takes_numbers(func: Any) -> bool:
    """Whether an overload is one for numbers, which become operands."""
    name = func.name().removeprefix("aten::")
    return "scalar" in name.partition(".")[2].lower() and name not in _PARAMETERS
