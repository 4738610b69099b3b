"""The share of a mask that is true, if the ops that computed the mask determine it.

A router picks `k` of `n` experts with `topk`; `chosen == 3` then selects one of n indices, if
tokens spread evenly. Two lists of integers differ nearly everywhere, as the ends of a graph's edges
do. Only such masks are tracked; the share of others is unknown.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

aten = torch.ops.aten

_CHOICES = {aten.topk: -1, aten.sort: -1, aten.argsort: -1, aten.argmax: None, aten.argmin: None}
"""Ops that return indices along a dimension, with its default (None: indices into all elements)."""
_PRESERVING = {aten._to_copy, aten.clone, aten.index_select, aten.gather}
"""Ops whose result has the same share as their first tensor."""


class Masks:
    """Track shares: call `update` for each op in order, then `share(tensor)`.

    A sum over a mask counts its true elements: `count(tensor)`, the mean of its elements. Shares
    and counts are stored by storage, which views have in common, and dropped with it.
    """

    def __init__(self) -> None:
        self._index_shares: dict[int, tuple[weakref.ref[Any], float]] = {}
        self._shares: dict[int, tuple[weakref.ref[Any], float]] = {}
        self._counts: dict[int, tuple[weakref.ref[Any], float]] = {}

    def share(self, tensor: torch.Tensor) -> float | None:
        """The share of nonzero elements of a tensor, in [0, 1]; None if unknown."""
        return _read(self._shares, tensor)

    def count(self, tensor: torch.Tensor) -> float | None:
        """The mean element of a tensor that counts the true elements of masks; None if unknown."""
        return _read(self._counts, tensor)

    def update(
        self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """Update the shares after `result = func(*args, **kwargs)`, where `func` is an overload."""
        op = func.overloadpacket
        if op in _CHOICES:
            axis = _argument(func, args, kwargs, "dim", _CHOICES[op])
            indices = result[1] if isinstance(result, tuple) else result
            x = args[0]
            among = x.numel() if axis is None or x.dim() == 0 else x.shape[axis]
            _write(self._index_shares, indices, 1.0 / max(1, among))
        elif op in (aten.scatter_, aten.scatter) and isinstance(args[3], int | float):
            if args[3]:  # one_hot: ones among zeros
                _write(self._shares, result, min(1.0, args[2].numel() / max(1, result.numel())))
        elif op is aten.ne and _are_lists(args):
            _write(self._shares, result, 1.0)
        elif self._shares or self._index_shares:
            self._propagate(op, args, result)

    def _propagate(self, op: Any, args: tuple[Any, ...], result: Any) -> None:
        first = next((a for a in args if isinstance(a, torch.Tensor)), None)
        if first is None or not isinstance(result, torch.Tensor):
            return
        share, index_share = self.share(first), _read(self._index_shares, first)
        if op is aten.eq and index_share is not None:
            _write(self._shares, result, index_share)
        elif op in _PRESERVING or (op is aten.index and _integers(args[1])):
            if share is not None:
                _write(self._shares, result, share)
            if index_share is not None:
                _write(self._index_shares, result, index_share)
        elif share is not None and (rule := _MASK_RULES.get(op)):
            summed = first.numel() // max(1, result.numel())
            _write(self._shares, result, rule(share, summed))
            if op is aten.sum:
                _write(self._counts, result, share * summed)


_MASK_RULES: dict[Any, Callable[[float, int], float]] = {
    aten.gt: lambda share, summed: share,
    aten.ne: lambda share, summed: share,
    aten.logical_not: lambda share, summed: 1 - share,
    aten.bitwise_not: lambda share, summed: 1 - share,
    aten.sum: lambda share, summed: 1 - (1 - share) ** summed,  # the probability that any is true
    aten.any: lambda share, summed: 1 - (1 - share) ** summed,
}


def _argument(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str, default: Any
) -> Any:
    """The value of a call's argument by its name in the schema. Overloads differ in positions:
    `sort.stable(self, *, stable, dim=-1)`."""
    place = next((i for i, a in enumerate(func._schema.arguments) if a.name == name), len(args))
    return args[place] if place < len(args) else kwargs.get(name, default)


def _are_lists(values: tuple[Any, ...]) -> bool:
    """Whether all values are lists of integers of the same length, none of them expanded."""
    tensors = [v for v in values if isinstance(v, torch.Tensor) and v.dim() == 1]
    integers = all(t.dtype in (torch.int32, torch.int64) and t.stride(0) for t in tensors)
    return integers and len(tensors) == len(values) and len({t.shape for t in tensors}) == 1


def _integers(indices: list[torch.Tensor | None]) -> bool:
    return all(i is None or i.dtype not in (torch.bool, torch.uint8) for i in indices)


def _write(
    table: dict[int, tuple[weakref.ref[Any], float]], tensor: torch.Tensor, value: float
) -> None:
    storage = tensor.untyped_storage()
    table[storage._cdata] = weakref.ref(storage), value


def _read(
    table: Mapping[int, tuple[weakref.ref[Any], float]], tensor: torch.Tensor
) -> float | None:
    storage = tensor.untyped_storage()
    entry = table.get(storage._cdata)
    return entry[1] if entry is not None and entry[0]() is storage else None
