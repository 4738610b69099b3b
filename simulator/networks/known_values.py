"""Values of tensors with one element that a network computes from numbers of its own.

Tensors on `meta` have no data, but a buffer such as `torch.tensor(stride)` decides sizes: its value
is remembered, and computed for the results of ops on such tensors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

_VALUE = "_ridgepoint_value"
_CPU = torch.device("cpu")
_DEEPCOPY: Any = Tensor.__deepcopy__  # copies the value too
_FROM_NUMBERS: tuple[Any, ...] = (torch.tensor, torch.as_tensor, torch.scalar_tensor)


def known_value(tensor: Tensor) -> Tensor | None:
    """The value of a tensor with one element, on the CPU; None if it is not known."""
    return getattr(tensor, _VALUE, None)


def keep_value(tensor: Tensor, like: Tensor) -> Tensor:
    """`tensor` with the value of `like`, if that has one element and is known."""
    value = known_value(like)
    if value is None and like.numel() == 1 and not like.is_meta and not like.requires_grad:
        value = like.detach().cpu().clone()
    if value is not None:
        setattr(tensor, _VALUE, value)
    return tensor


def remember(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    result: Any,
    quietly: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Note the value of what a call returned, if it has one element that follows from numbers and
    known values, and is not random. `quietly` is entered while it is computed."""
    if not isinstance(result, Tensor) or result.numel() != 1 or not result.is_meta:
        return
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    known = all(hasattr(tensor, _VALUE) for tensor in tensors)
    if func is _DEEPCOPY or not (tensors or func in _FROM_NUMBERS):
        return
    value = None
    if known:
        with quietly():
            value = _on_cpu(func, args, kwargs)
    if value is not None:
        setattr(result, _VALUE, value)
    elif hasattr(result, _VALUE):  # written to in place
        delattr(result, _VALUE)


def _on_cpu(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Tensor | None:
    """What a call returns for the known values of its tensors; None where it is random or fails."""
    given = tree_map_only(Tensor, lambda t: getattr(t, _VALUE).clone(), (args, dict(kwargs)))
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
    """Remembers the values of tensors that a constructor makes."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        remember(func, args, kwargs or {}, result)
        return result
