"""The offset of each operand of a trace in its storage, derived from views. A compiler needs
offsets to find memory that two loops share, because it must distinguish two parts of one buffer.

A trace names storages, shapes and strides. Among views that differ only in their offset (the three
of `unbind`), an op is assumed to read the least used view, and the oldest of these.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from simulator.caches.derived import Derived
from simulator.records import Op, Tensor, Trace

_Form = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass
class _View:
    offset: int
    uses: int = 0


_OFFSETS = Derived[list[tuple[int, ...]]]()


def offsets(trace: Trace, computes: list[bool]) -> list[tuple[int, ...]]:
    """The offset of each input of each op in its storage, in elements. `computes` is that of the
    trace's dataflow."""
    return _OFFSETS.get(
        trace,
        lambda: [tuple(offset for offset, _ in inputs) for inputs in _places(trace, computes)],
    )


def guessed(trace: Trace, computes: list[bool]) -> list[bool]:
    """For each op, whether it reads one of several views that differ only in their offset. The
    trace does not record which, so the offset is a guess."""
    return [any(of_many for _, of_many in inputs) for inputs in _places(trace, computes)]


def _places(trace: Trace, computes: list[bool]) -> list[tuple[tuple[int, bool], ...]]:
    known: dict[int, dict[_Form, list[_View]]] = defaultdict(dict)
    places: list[tuple[tuple[int, bool], ...]] = []
    for index, op in enumerate(trace.ops):
        inputs = len(op.inputs)
        operands = zip(op.storages[:inputs], op.inputs, strict=True)
        mine = tuple(_take(known[storage], tensor) for storage, tensor in operands)
        places.append(mine)
        for place, (storage, tensor) in enumerate(
            zip(op.storages[inputs:], op.outputs, strict=True)
        ):
            if computes[index] or not mine:
                continue
            offset = mine[0][0] + _step(op, place)
            _add(known[storage], tensor, offset)
    return places


def _take(views: dict[_Form, list[_View]], tensor: Tensor) -> tuple[int, bool]:
    candidates = views.get((tensor.shape, tensor.stride))
    if not candidates:
        return 0, False
    least = min(candidates, key=lambda view: view.uses)
    least.uses += 1
    return least.offset, len(candidates) > 1


def _add(views: dict[_Form, list[_View]], tensor: Tensor, offset: int) -> None:
    candidates = views.setdefault((tensor.shape, tensor.stride), [])
    for view in candidates:
        if view.offset == offset:
            view.uses = min(each.uses for each in candidates) - 1  # the newest view
            return
    candidates.append(_View(offset))


def _step(op: Op, place: int) -> int:
    """The offset, in elements, of output `place` of a view op from its source."""
    source, args = op.inputs[0], op.signature.args
    name = op.name.split(".")[1]
    if name == "as_strided":
        return int(args.get("storage_offset") or 0)
    rank = len(source.shape)
    dim = args.get("dim", 0)
    if not isinstance(dim, int) or not rank:
        return 0
    dim %= rank
    return source.stride[dim] * _lines(name, args, source.shape[dim], place)


def _lines(name: str, args: dict[str, Any], size: int, place: int) -> int:
    """The index along its dimension at which a view begins. (A trace has no `narrow` or `chunk`:
    torch dispatches them as slices and splits.)"""
    if name == "slice":
        start = int(args.get("start") or 0)
    elif name == "select":
        start = int(args.get("index", 0))
    elif name in ("split", "unsafe_split"):
        start = place * int(args.get("split_size", 0))
    elif name in ("split_with_sizes", "unsafe_split_with_sizes"):
        start = [0, *accumulate(args.get("split_sizes", ()))][place]
    elif name == "unbind":
        start = place
    else:
        return 0
    return start + size if start < 0 else min(start, size)
