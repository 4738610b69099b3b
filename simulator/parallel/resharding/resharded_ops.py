"""The signatures of an FSDP2 step's ops if the step runs on a different number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from simulator.parallel.part_sizes import PACK_GRADIENTS, PartSizes, UnknownSizeError
from simulator.records import Signature, Tensor, row_major

GATHER, SCATTER = "c10d._allgather_base_.default", "c10d._reduce_scatter_base_.default"
PACK, UNPACK = "fsdp.all_gather_copy_in.default", "fsdp.split_with_sizes_copy.default"
EMPTY, VIEW, PART = "aten.empty.memory_format", "aten.view.default", "aten.as_strided.default"


class Holding(NamedTuple):
    """The contents of an op's first storage: the parts of all ranks (`gathered`), those of one rank
    (`scattered`), or a gathered weight with `part` elements on each rank."""

    gathered: bool
    scattered: bool
    part: int


def _flat(tensor: Tensor, elements: int) -> Tensor:
    return Tensor((elements,), tensor.dtype, (1,), tensor.device)


def _table(tensor: Tensor, ranks: int, elements: int) -> Tensor:
    return Tensor((ranks, elements), tensor.dtype, (elements, 1), tensor.device)


class Parts:
    """Parts of weights, each with the size for the other number of ranks. Equal objects of the
    trace stay one object."""

    def __init__(self, sizes: PartSizes) -> None:
        self._sizes = sizes
        self._parts: dict[int, tuple[Tensor, Tensor]] = {}  # keys are ids of old tensors

    def of(self, tensor: Tensor) -> Tensor:
        """The part that replaces a tensor, or the tensor itself."""
        known = self._parts.get(id(tensor))
        if known is None:
            known = self._parts[id(tensor)] = tensor, _part_of(tensor, self._sizes)
        return known[1]


def updated(op: Signature, parts: Parts) -> Signature:
    """An op of the optimizer, with parts of other sizes in place of its tensors."""
    inputs, outputs = (tuple(map(parts.of, each)) for each in (op.inputs, op.outputs))
    if inputs == op.inputs and outputs == op.outputs:
        return op
    return msgspec.structs.replace(op, inputs=inputs, outputs=outputs)


def _part_of(tensor: Tensor, sizes: PartSizes) -> Tensor:
    shape = sizes.shapes.get(tensor.shape, tensor.shape)
    if shape == tensor.shape:
        return tensor
    if tensor.stride != row_major(tensor.shape):
        raise UnknownSizeError
    return Tensor(shape, tensor.dtype, row_major(shape), tensor.device)


def _empty(op: Signature, sizes: PartSizes, holding: Holding) -> Signature:
    elements = op.out.numel
    count = sizes.gathered(elements) if holding.gathered else sizes.groups[elements]
    out = _flat(op.out, count)
    return msgspec.structs.replace(op, outputs=(out,), args={**op.args, "size": [count]})


def _view(op: Signature, sizes: PartSizes, holding: Holding) -> Signature:
    """A buffer, or a gathered weight, with a row for each rank."""
    tensor = op.inputs[0]
    count = sizes.gathered(tensor.numel) if holding.gathered else holding.part * sizes.after
    out = _table(tensor, sizes.after, count // sizes.after)
    args = {**op.args, "size": [sizes.after, -1]}
    return msgspec.structs.replace(op, inputs=(_flat(tensor, count),), outputs=(out,), args=args)


def _pack(op: Signature, sizes: PartSizes, holding: Holding) -> Signature:
    *parts, buffer = op.inputs
    group = sizes.groups[op.args["all_gather_input_numel"]]
    whole = _flat(buffer, group * sizes.after)
    counts = sizes.parts[tuple(t.numel for t in parts)]
    inputs = (*(_flat(t, n) for t, n in zip(parts, counts, strict=True)), whole)
    outputs = _flat(op.outputs[0], group), whole
    args = {**op.args, "inp_split_sizes": counts, "all_gather_input_numel": group}
    return msgspec.structs.replace(op, inputs=inputs, outputs=outputs, args=args)


def _unpack(op: Signature, sizes: PartSizes, holding: Holding) -> Signature:
    buffer, *parts = op.inputs
    counts = sizes.parts[tuple(t.shape[1] for t in parts)]
    inputs = (
        _table(buffer, sizes.after, sizes.groups[buffer.shape[1]]),
        *(_table(t, sizes.after, n) for t, n in zip(parts, counts, strict=True)),
    )
    args = {**op.args, "all_gather_input_split_sizes": counts}
    return msgspec.structs.replace(op, inputs=inputs, args=args)


def _pack_gradients(op: Signature, sizes: PartSizes, holding: Holding) -> Signature:
    *gradients, buffer = op.inputs
    out = _table(buffer, sizes.after, sizes.groups[buffer.shape[1]])
    args = {**op.args, "num_chunks": sizes.after}
    return msgspec.structs.replace(op, inputs=(*gradients, out), args=args)


def _exchange(op: Signature, sizes: PartSizes, holding: Holding) -> Signature:
    """An all-gather or a reduce-scatter between a buffer of all parts and a rank's buffer."""

    def buffer(tensor: Tensor, whole: bool) -> Tensor:
        elements = tensor.numel
        return _flat(tensor, sizes.gathered(elements) if whole else sizes.groups[elements])

    into_whole = op.name == GATHER
    out, read = op.inputs
    inputs = buffer(out, into_whole), buffer(read, not into_whole)
    return msgspec.structs.replace(op, inputs=inputs, outputs=inputs[:1])


def _part(op: Signature, sizes: PartSizes, holding: Holding) -> Signature:
    """A view of one gradient in a rank's buffer."""
    group, old = op.inputs[0].numel, op.out
    if not holding.scattered:
        raise UnknownSizeError
    shape = sizes.shapes[old.shape]
    offset = sizes.offsets[group, op.args["storage_offset"]]
    args = {**op.args, "size": list(shape), "storage_offset": offset}
    out = Tensor(shape, old.dtype, old.stride, old.device)
    inputs = (_flat(op.inputs[0], sizes.groups[group]),)
    return msgspec.structs.replace(op, inputs=inputs, outputs=(out,), args=args)


CHANGES: dict[str, Callable[[Signature, PartSizes, Holding], Signature]] = {
    EMPTY: _empty, VIEW: _view, PACK: _pack, GATHER: _exchange, UNPACK: _unpack,
    PACK_GRADIENTS: _pack_gradients, SCATTER: _exchange, PART: _part,
}  # fmt: skip
"""By the name of an op, the function that returns its signature for the other number of ranks."""
