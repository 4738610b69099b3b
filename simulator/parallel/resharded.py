"""FSDP2's step over another number of ranks, without tracing it again.

Rank 0 of n holds the first ⌈D/n⌉ of the D rows of each weight. A group of weights is gathered into,
and its gradients are scattered from, one flat buffer of n such parts; `fsdp.chunk_cat` takes the
whole gradients and so tells D. The number of ops and the host's work do not depend on n.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import NamedTuple, TypeVar

import msgspec

from simulator.records import Op, Signature, Tensor, Trace, row_major

_GATHER, _SCATTER = "c10d._allgather_base_.default", "c10d._reduce_scatter_base_.default"
_PACK, _UNPACK = "fsdp.all_gather_copy_in.default", "fsdp.split_with_sizes_copy.default"
_PACK_GRADIENTS = "fsdp.chunk_cat.default"
_EMPTY, _VIEW, _PART = "aten.empty.memory_format", "aten.view.default", "aten.as_strided.default"


K = TypeVar("K")
V = TypeVar("V")


class _UnknownSizeError(ValueError):
    """A size of the trace follows from no weight, or from two that differ."""


def resharded(trace: Trace, before: tuple[int, ...], after: tuple[int, ...]) -> Trace | None:
    """The trace of rank 0 of the ranks `after`, from that of rank 0 of the ranks `before`; None if
    it does not tell the sizes of the weights, as in inference."""
    try:
        return _Resharding(trace, before, after).trace()
    except _UnknownSizeError:
        return None


class _Sizes:
    """Sizes over the ranks of a trace, each with that over the other ranks."""

    def __init__(self, trace: Trace, before: int, after: int) -> None:
        self.before, self.after = before, after
        self.shapes: dict[tuple[int, ...], tuple[int, ...]] = {}  # of a rank's part of a weight
        self.parts: dict[tuple[int, ...], list[int]] = {}  # elements of those of a group
        self.groups: dict[int, int] = {}  # the sum of these
        self.offsets: dict[tuple[int, int], int] = {}  # of a part, by its group's elements too
        for signature in trace.signatures[0]:
            if signature.name == _PACK_GRADIENTS:
                self._add([t.shape for t in signature.tensors("tensors")])

    def _add(self, weights: list[tuple[int, ...]]) -> None:
        shapes = [[_first_rows(w, n) for w in weights] for n in (self.before, self.after)]
        old, new = ([prod(shape) for shape in each] for each in shapes)
        for a, b in zip(*shapes, strict=True):
            _put(self.shapes, a, b)
        _put(self.parts, tuple(old), new)
        _put(self.groups, sum(old), sum(new))
        starts = (list(accumulate(each, initial=0))[:-1] for each in (old, new))
        for a, b in zip(*starts, strict=True):
            _put(self.offsets, (sum(old), a), b)

    def group(self, elements: int) -> int:
        return _get(self.groups, elements)

    def gathered(self, elements: int) -> int:
        """The elements of all ranks' parts of a group."""
        each, rest = divmod(elements, self.before)
        if rest:
            raise _UnknownSizeError
        return self.group(each) * self.after


def _first_rows(shape: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    return (-(-shape[0] // ranks), *shape[1:]) if shape else shape


def _put(table: dict[K, V], key: K, value: V) -> None:
    if table.setdefault(key, value) != value:
        raise _UnknownSizeError


def _get(table: dict[K, V], key: K) -> V:
    if key not in table:
        raise _UnknownSizeError
    return table[key]


class _Place(NamedTuple):
    """What an op's first storage is: a buffer of all ranks' parts, one of a rank's, or a gathered
    weight of whose elements each rank holds `part`."""

    gathered: bool
    scattered: bool
    part: int


class _Resharding:
    """The ops on parts of weights, on the buffers of groups, and of the optimizer."""

    def __init__(self, trace: Trace, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        self.source, self.before, self.after = trace, before, after
        self.sizes = _Sizes(trace, len(before), len(after))
        self.gathered: set[int] = set()  # storages of buffers with all ranks' parts
        self.scattered: set[int] = set()  # and with those of one rank
        for op in trace.ops:
            if op.signature.name == _GATHER:
                self.gathered.update(op.storages)
            elif op.signature.name == _SCATTER:
                self.scattered.add(op.storages[0])
                self.gathered.add(op.storages[1])
        self.part_of: dict[int, int] = {}  # by the storage of a gathered weight
        for op in trace.ops:
            if op.signature.name == _UNPACK:
                listed = tuple(op.signature.args["all_gather_input_split_sizes"])
                self.part_of.update(
                    zip(op.storages[1:], _get(self.sizes.parts, listed), strict=True)
                )
        self.signatures: dict[tuple[int, _Place], Signature] = {}
        self.bytes: dict[int, int] = {}

    def trace(self) -> Trace:
        ops = [self._op(op) if self._touches_parts(op) else op for op in self.source.ops]
        storages = [
            msgspec.structs.replace(s, nbytes=self.bytes[n]) if n in self.bytes else s
            for n, s in enumerate(self.source.storages)
        ]
        return msgspec.structs.replace(self.source, ops=ops, storages=storages)

    def _touches_parts(self, op: Op) -> bool:
        name = op.signature.name
        if name == _VIEW:
            is_table = op.signature.args.get("size") == [len(self.before), -1]
            return is_table and (op.storages[0] in self.gathered or op.storages[0] in self.part_of)
        if name in (_EMPTY, _PART):
            return op.storages[0] in self.gathered or op.storages[0] in self.scattered
        return name in _CHANGES or op.phase == "optimizer"

    def _op(self, op: Op) -> Op:
        first = op.storages[0]
        place = _Place(first in self.gathered, first in self.scattered, self.part_of.get(first, 0))
        key = id(op.signature), place
        if key not in self.signatures:
            change = _CHANGES.get(op.signature.name)
            self.signatures[key] = (
                _updated(op.signature, self.sizes)
                if change is None or op.phase == "optimizer"
                else change(op.signature, self.sizes, place)
            )
        signature = self.signatures[key]
        if signature is op.signature:
            return op
        old = (*op.signature.inputs, *op.signature.outputs)
        new = (*signature.inputs, *signature.outputs)
        for storage, a, b in zip(op.storages, old, new, strict=True):
            if a is not b and a.nbytes == self.source.storages[storage].nbytes:
                self.bytes[storage] = b.nbytes
        collective = op.collective
        if collective is not None and collective.ranks == self.before:
            nbytes = max(sum(t.nbytes for t in some) for some in (signature.inputs[:1],
                         signature.inputs[1:], signature.outputs))  # fmt: skip
            collective = msgspec.structs.replace(collective, ranks=self.after, message_bytes=nbytes)
        return msgspec.structs.replace(op, signature=signature, collective=collective)


def _flat(tensor: Tensor, elements: int) -> Tensor:
    return Tensor((elements,), tensor.dtype, (1,), tensor.device)


def _table(tensor: Tensor, ranks: int, elements: int) -> Tensor:
    return Tensor((ranks, elements), tensor.dtype, (elements, 1), tensor.device)


def _updated(op: Signature, sizes: _Sizes) -> Signature:
    """An op of the optimizer, whose tensors are parts of weights."""

    parts: dict[int, Tensor] = {}  # by the identity of the tensor before

    def part(tensor: Tensor) -> Tensor:
        if id(tensor) not in parts:
            parts[id(tensor)] = _part_of(tensor, sizes)
        return parts[id(tensor)]

    inputs, outputs = (tuple(map(part, each)) for each in (op.inputs, op.outputs))
    if inputs == op.inputs and outputs == op.outputs:
        return op
    return msgspec.structs.replace(op, inputs=inputs, outputs=outputs)


def _part_of(tensor: Tensor, sizes: _Sizes) -> Tensor:
    shape = sizes.shapes.get(tensor.shape, tensor.shape)
    if shape == tensor.shape:
        return tensor
    if tensor.stride != row_major(tensor.shape):
        raise _UnknownSizeError
    return Tensor(shape, tensor.dtype, row_major(shape), tensor.device)


def _empty(op: Signature, sizes: _Sizes, place: _Place) -> Signature:
    elements = op.out.numel
    count = sizes.gathered(elements) if place.gathered else sizes.group(elements)
    out = _flat(op.out, count)
    return msgspec.structs.replace(op, outputs=(out,), args={**op.args, "size": [count]})


def _view(op: Signature, sizes: _Sizes, place: _Place) -> Signature:
    """A buffer, or a gathered weight, with a row for each rank."""
    tensor = op.inputs[0]
    count = sizes.gathered(tensor.numel) if place.gathered else place.part * sizes.after
    out = _table(tensor, sizes.after, count // sizes.after)
    args = {**op.args, "size": [sizes.after, -1]}
    return msgspec.structs.replace(op, inputs=(_flat(tensor, count),), outputs=(out,), args=args)


def _pack(op: Signature, sizes: _Sizes, place: _Place) -> Signature:
    *parts, buffer = op.inputs
    group = sizes.group(op.args["all_gather_input_numel"])
    whole = _flat(buffer, group * sizes.after)
    counts = _get(sizes.parts, tuple(t.numel for t in parts))
    inputs = (*(_flat(t, n) for t, n in zip(parts, counts, strict=True)), whole)
    outputs = _flat(op.outputs[0], group), whole
    args = {**op.args, "inp_split_sizes": counts, "all_gather_input_numel": group}
    return msgspec.structs.replace(op, inputs=inputs, outputs=outputs, args=args)


def _unpack(op: Signature, sizes: _Sizes, place: _Place) -> Signature:
    buffer, *parts = op.inputs
    counts = _get(sizes.parts, tuple(t.shape[1] for t in parts))
    inputs = (
        _table(buffer, sizes.after, sizes.group(buffer.shape[1])),
        *(_table(t, sizes.after, n) for t, n in zip(parts, counts, strict=True)),
    )
    args = {**op.args, "all_gather_input_split_sizes": counts}
    return msgspec.structs.replace(op, inputs=inputs, args=args)


def _pack_gradients(op: Signature, sizes: _Sizes, place: _Place) -> Signature:
    *gradients, buffer = op.inputs
    out = _table(buffer, sizes.after, sizes.group(buffer.shape[1]))
    args = {**op.args, "num_chunks": sizes.after}
    return msgspec.structs.replace(op, inputs=(*gradients, out), args=args)


def _exchange(op: Signature, sizes: _Sizes, place: _Place) -> Signature:
    """An all-gather or a reduce-scatter between a buffer of all parts and that of a rank."""

    def buffer(tensor: Tensor, whole: bool) -> Tensor:
        return _flat(tensor, (sizes.gathered if whole else sizes.group)(tensor.numel))

    into_whole = op.name == _GATHER
    out, read = op.inputs
    inputs = buffer(out, into_whole), buffer(read, not into_whole)
    return msgspec.structs.replace(op, inputs=inputs, outputs=inputs[:1])


def _part(op: Signature, sizes: _Sizes, place: _Place) -> Signature:
    """A gradient in the buffer of a rank's parts."""
    group, old = op.inputs[0].numel, op.out
    if not place.scattered or old.shape not in sizes.shapes:
        raise _UnknownSizeError
    shape = sizes.shapes[old.shape]
    offset = _get(sizes.offsets, (group, op.args["storage_offset"]))
    args = {**op.args, "size": list(shape), "storage_offset": offset}
    out = Tensor(shape, old.dtype, old.stride, old.device)
    inputs = (_flat(op.inputs[0], sizes.group(group)),)
    return msgspec.structs.replace(op, inputs=inputs, outputs=(out,), args=args)


_CHANGES: dict[str, Callable[[Signature, _Sizes, _Place], Signature]] = {
    _EMPTY: _empty, _VIEW: _view, _PACK: _pack, _GATHER: _exchange, _UNPACK: _unpack,
    _PACK_GRADIENTS: _pack_gradients, _SCATTER: _exchange, _PART: _part,
}  # fmt: skip
