"""How large a share of a mask is true, where the ops that made it tell.

A router picks `k` of `n` experts with `topk`; `chosen == 3` then keeps one index in n, if tokens
spread evenly. Only what such a choice tells is followed; of other masks nothing is known.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

aten = torch.ops.aten

_CHOICES = {aten.topk: -1, aten.sort: -1, aten.argsort: -1, aten.argmax: None, aten.argmin: None}
"""Ops that return indices along a dimension, and the one where the call names none; without any
the index is one among all elements."""
_SAME = {aten._to_copy, aten.clone, aten.index_select, aten.gather}
"""Ops whose result is as full as their first tensor."""


class Masks:
    """`share(tensor)` of those seen so far; `learn` from each op, in order.

    Views share their tensor's memory, so what is known goes by it and ends with it.
    """

    def __init__(self) -> None:
        self._chosen: dict[int, tuple[weakref.ref[Any], float]] = {}
        self._shares: dict[int, tuple[weakref.ref[Any], float]] = {}

    def share(self, tensor: torch.Tensor) -> float | None:
        """Of a tensor's elements that are not zero, in [0, 1]; None where nothing tells."""
        return _read(self._shares, tensor)

    def learn(
        self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """What `result = func(*args, **kwargs)` tells; `func` is an overload."""
        op = func.overloadpacket
        if op in _CHOICES:
            axis = _argument(func, args, kwargs, "dim", _CHOICES[op])
            indices = result[1] if isinstance(result, tuple) else result
            x = args[0]
            among = x.numel() if axis is None or x.dim() == 0 else x.shape[axis]
            _write(self._chosen, indices, 1.0 / max(1, among))
        elif op in (aten.scatter_, aten.scatter) and isinstance(args[3], int | float):
            if args[3]:  # one_hot: ones among zeros
                _write(self._shares, result, min(1.0, args[2].numel() / max(1, result.numel())))
        elif self._shares or self._chosen:
            self._follow(op, args, result)

    def _follow(self, op: Any, args: tuple[Any, ...], result: Any) -> None:
        first = next((a for a in args if isinstance(a, torch.Tensor)), None)
        if first is None or not isinstance(result, torch.Tensor):
            return
        share, one = self.share(first), _read(self._chosen, first)
        if op is aten.eq and one is not None:
            _write(self._shares, result, one)
        elif op in _SAME or (op is aten.index and _integers(args[1])):
            if share is not None:
                _write(self._shares, result, share)
            if one is not None:
                _write(self._chosen, result, one)
        elif share is not None and (rule := _OF_MASKS.get(op)):
            _write(self._shares, result, rule(share, first.numel() // max(1, result.numel())))


_OF_MASKS: dict[Any, Callable[[float, int], float]] = {
    aten.gt: lambda share, summed: share,
    aten.ne: lambda share, summed: share,
    aten.logical_not: lambda share, summed: 1 - share,
    aten.bitwise_not: lambda share, summed: 1 - share,
    aten.sum: lambda share, summed: 1 - (1 - share) ** summed,  # that any of them is one
    aten.any: lambda share, summed: 1 - (1 - share) ** summed,
}


def _argument(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str, default: Any
) -> Any:
    """What a call gives for an argument of its schema. Overloads place theirs differently:
    `sort.stable(self, *, stable, dim=-1)`."""
    place = next((i for i, a in enumerate(func._schema.arguments) if a.name == name), len(args))
    return args[place] if place < len(args) else kwargs.get(name, default)


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
    found = table.get(storage._cdata)
    return found[1] if found is not None and found[0]() is storage else None
