"""Values of small tensors that a network computes from constants.

Tensors on `meta` have no data, but a buffer such as `torch.tensor(stride)` can determine a size:
its value is recorded, and so are the results of ops whose tensors all have known values. A
constructor can also read a short range, such as the rates of `torch.linspace(0, 0.1, layers)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

_VALUE = "_ridgepoint_value"
_CPU = torch.device("cpu")
_DEEPCOPY: Any = Tensor.__deepcopy__
_LEAVES = {bool, int, float, str, type(None), torch.dtype, torch.device}
_FROM_NUMBERS: tuple[Any, ...] = (torch.tensor, torch.as_tensor, torch.scalar_tensor)
_RANGES: tuple[Any, ...] = (torch.linspace, torch.logspace, torch.arange, torch.full)
_LONGEST_RANGE = 1024
"""The most elements of a tensor whose values a constructor can read."""
_INTEGERS = (torch.int32, torch.int64)
_TENSOR: Any = Tensor
_READS: tuple[Any, ...] = (
    _TENSOR.item, _TENSOR.tolist, _TENSOR.numpy, _TENSOR.__bool__, _TENSOR.__int__,
    _TENSOR.__float__, _TENSOR.__index__,
)  # fmt: skip
"""Calls that return a tensor's values as Python's or NumPy's."""


def known_value(tensor: Tensor) -> Tensor | None:
    """The value of a tensor, on the CPU; None if the value is unknown, or if the tensor or a view
    of it was written to since. Most tensors with a known value have one element."""
    return _value(tensor, _version(tensor))


def _value(tensor: Tensor, version: int) -> Tensor | None:
    """The value that was recorded at this version of a tensor; None without one."""
    value, noted_at = getattr(tensor, _VALUE, (None, version))
    return value if noted_at == version else None


def _note(tensor: Tensor, value: Tensor) -> None:
    setattr(tensor, _VALUE, (value, _version(tensor)))


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among the leaves of nested values."""
    tensors: list[Tensor] = []
    for value in values:
        kind = type(value)
        if kind in _LEAVES:
            continue
        if isinstance(value, Tensor):
            tensors.append(value)
        elif kind in (tuple, list):
            tensors += _tensors(value)
        else:
            tensors += [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]
    return tensors


def _forget(tensors: Iterable[Tensor]) -> None:
    for tensor in tensors:
        if hasattr(tensor, _VALUE):
            delattr(tensor, _VALUE)


def _writes(name: str) -> bool:
    """Whether a function of this name writes to a tensor: `fill_` does, `__int__` does not, nor
    does the `__get__` of `tensor.device`."""
    return name in ("__setitem__", "__set__") or (name.endswith("_") and not name.endswith("__"))


def _version(tensor: Tensor) -> int:
    """The number of writes to a tensor and its views; 0 for tensors created in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def _is_unwritten(tensor: Tensor) -> bool:
    """Whether a tensor has the value that was recorded; the writes to tensors created in inference
    mode are not counted."""
    return not tensor.is_inference() and known_value(tensor) is not None


def keep_value(tensor: Tensor, like: Tensor) -> Tensor:
    """Return `tensor`, and record the value of `like` for it if that is known, or if `like` has
    data and is one element or a short row of integers, such as lengths."""
    value = known_value(like)
    short = like.dim() == 1 and like.numel() <= _LONGEST_RANGE and like.dtype in _INTEGERS
    if value is None and (short or like.numel() == 1) and not (like.is_meta or like.requires_grad):
        value = like.detach().cpu().clone()
    if value is not None:
        _note(tensor, value)
    return tensor


def remember(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    result: Any,
    quietly: Callable[[], AbstractContextManager[None]] = nullcontext,
    max_elements: int = 1,
) -> None:
    """Record the value of a call's result, if the result has at most `max_elements`, depends on
    numbers and known values alone, and is not random. The value is computed inside the context
    `quietly()`."""
    if not isinstance(result, Tensor):
        if _writes(getattr(func, "__name__", "")):  # torch._foreach_add_ adds no version
            _forget(_tensors((*args, *kwargs.values())))
        return
    if not 1 <= result.numel() <= max_elements or not result.is_meta:
        return
    tensors = _tensors((*args, *kwargs.values()))
    if func is _DEEPCOPY:
        keep_value(result, args[0])
        return
    if not (tensors or func in _FROM_NUMBERS or (max_elements > 1 and func in _RANGES)):
        return
    if any(t is result for t in tensors) and _is_unwritten(result):
        return  # `requires_grad_`, `to` its own dtype …: the tensor itself, without a write
    # a call that writes to a tensor returns it at the next version
    before = {id(t): _value(t, _version(t) - (t is result)) for t in tensors}
    value = None
    if all(one is not None for one in before.values()):
        with quietly():
            value = _on_cpu(func, args, kwargs, before)
    if value is not None:
        _note(result, value)
    else:  # may have been written to in place
        _forget([result])


def _on_cpu(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    before: Mapping[int, Any],
) -> Tensor | None:
    """The result of a call on the CPU, given the values of its tensors `before` it, by the tensors'
    `id`; None if the call is random or fails."""
    given = tree_map_only(Tensor, lambda t: before[id(t)].clone(), (args, dict(kwargs)))
    values, named = tree_map_only(torch.device, lambda _: _CPU, given)
    random = torch.get_rng_state()
    try:
        with torch._C.DisableTorchFunction(), torch.no_grad():
            value = func(*values, **named)
    except (RuntimeError, TypeError, ValueError):
        return None
    if not torch.equal(random, torch.get_rng_state()):
        torch.set_rng_state(random)
        return None
    return value if isinstance(value, Tensor) and not value.is_meta else None


class Remembering(TorchFunctionMode):
    """Records the values of small tensors that a constructor creates, which it can then read."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        value = known_value(args[0]) if func in _READS else None
        if value is not None:
            return func(value, *args[1:], **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        remember(func, args, kwargs or {}, result, max_elements=_LONGEST_RANGE)
        if func is _TENSOR.unbind and (value := known_value(args[0])) is not None:
            # a loop over a tensor unbinds it
            for one, known in zip(result, func(value, *args[1:], **(kwargs or {})), strict=True):
                _note(one, known)
        return result
