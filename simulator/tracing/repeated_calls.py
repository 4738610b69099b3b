"""Results of the calls that a step repeats, for example in identical blocks.

torch derives the layout of a result without data in Python, which takes longer than the rest of a
trace. A pure op gives results of the same layout for operands of the same layout.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

import torch
from msgspec import msgpack
from torch.utils._pytree import tree_leaves

from simulator.caches.lru import LRUCache
from simulator.hardware.gpu import GPU
from simulator.tracing.layouts.results import laid_out_by_cuda

_TENSORS = (torch.Tensor, torch.nn.Parameter)
_PLAIN = {
    bool, int, float, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format,
}  # fmt: skip
_BY_DATA = {
    torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape,
    torch.Tag.nondeterministic_seeded,
}  # fmt: skip
_Layout = tuple[tuple[int, ...], tuple[int, ...], torch.dtype]
"""Shape, stride and dtype of a tensor with its own memory."""


class _OperandError(Exception):
    """An operand has more than a layout, such as data."""


_Layouts = dict[Hashable, list["_Layout | None"]]
_SHARED: LRUCache[_Layouts] = LRUCache(8)
_MOST = 8192  # calls of which one set of rules keeps the layouts


class RepeatedCalls:
    """Runs ops on tensors without data. A pure op runs only once for operands of the same layout.

    `excluded` ops, such as "_cudnn_rnn" and "mul.Tensor", run in each call.
    """

    def __init__(self) -> None:
        self.excluded: frozenset[str] = frozenset()
        self._layouts: _Layouts = {}

    def share(self, excluded: frozenset[str], gpu: GPU) -> None:
        """Exclude ops, and share the results with other traces that exclude the same ops and have
        the same GPU, on which the excluded ops depend."""
        self.excluded = excluded
        self._layouts = _SHARED.get((excluded, msgpack.encode(gpu)), dict)
        if len(self._layouts) > _MOST:
            self._layouts.clear()

    def result(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of `func(*args, **kwargs)`, or new tensors of the same layouts."""
        key = self._key(func, args, kwargs)
        layouts = self._layouts.get(key)
        if layouts is not None:
            copies = tuple([layout and _empty(layout) for layout in layouts])
            return copies if len(func._schema.returns) > 1 else copies[0]
        result = laid_out_by_cuda(func, args, kwargs, func(*args, **kwargs))
        if key is not None:
            results = result if isinstance(result, tuple) else (result,)
            if _are_new(results, (args, kwargs)):
                self._layouts[key] = [t if t is None else _layout(t) for t in results]
        return result

    def _key(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Hashable:
        """Everything that the layouts of the results depend on; None if they may depend on more
        than layouts."""
        if not _is_pure(func) or _name(func) in self.excluded:
            return None
        try:
            return func, _state(), _value_key(args), _value_key((*kwargs.items(),))
        except _OperandError:
            return None


@cache
def _is_pure(func: Any) -> bool:
    """Whether an op of torch only returns new tensors, with sizes that do not depend on data."""
    schema = func._schema
    return (
        func.namespace == "aten"
        and not any(value.alias_info for value in (*schema.arguments, *schema.returns))
        and bool(schema.returns)
        and all(str(returned.type) == "Tensor" for returned in schema.returns)
        and not _BY_DATA & {*func.tags}
    )


@cache
def _name(func: Any) -> str:
    return func.name().removeprefix("aten::")


def _state() -> Hashable:
    """The settings of torch that layouts may depend on."""
    return (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cuda"),
        torch.get_autocast_dtype("cuda"),
        torch.are_deterministic_algorithms_enabled(),
    )


def _value_key(value: Any) -> Hashable:
    if type(value) in _TENSORS and value.is_meta:
        keys = torch._C._dispatch_keys(value).raw_repr()  # whether it is conjugate, sparse, named …
        return (*_layout(value), value.storage_offset(), value.requires_grad, keys)
    if type(value) in (tuple, list):
        return tuple([_value_key(item) for item in value])
    if type(value) in _PLAIN:
        return type(value), value
    raise _OperandError


def _layout(tensor: torch.Tensor) -> _Layout:
    return tensor.shape, tensor.stride(), tensor.dtype


def _empty(layout: _Layout) -> torch.Tensor:
    shape, stride, dtype = layout
    return torch.empty_strided(shape, stride, dtype=dtype, device="meta")


def _are_new(results: tuple[Any, ...], operands: Any) -> bool:
    """Whether each result is None or equal to a new tensor of its layout, with its own memory;
    `_unsafe_view` returns a view."""
    tensors = [t for t in results if t is not None]
    if not all(type(t) is torch.Tensor and _is_whole(t) for t in tensors):
        return False
    before = {_memory(t) for t in tree_leaves(operands) if isinstance(t, torch.Tensor)}
    own = {_memory(t) for t in tensors}
    return len(own) == len(tensors) and not own & before


def _is_whole(tensor: torch.Tensor) -> bool:
    """Whether a tensor on `meta` takes up its storage, and is not conjugate, sparse, named …"""
    if not tensor.is_meta or tensor.layout != torch.strided or tensor.storage_offset():
        return False
    new = _empty(_layout(tensor))
    same_keys = (
        torch._C._dispatch_keys(tensor).raw_repr() == torch._C._dispatch_keys(new).raw_repr()
    )
    return same_keys and tensor.untyped_storage().nbytes() == new.untyped_storage().nbytes()


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
