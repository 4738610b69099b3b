"""FSDP2's step over another number of ranks, without tracing it again.

A group of weights is gathered into one flat buffer with the parts of all ranks, and its gradients
are scattered from such a buffer. The number of ops and the host's work do not depend on the number
of ranks.
"""

from __future__ import annotations

import msgspec

from simulator.caches.derived import Derived
from simulator.parallel.part_sizes import PartSizes, UnknownSizeError
from simulator.parallel.resharding.resharded_ops import (
    CHANGES,
    EMPTY,
    GATHER,
    PART,
    SCATTER,
    UNPACK,
    VIEW,
    Holding,
    Parts,
    updated,
)
from simulator.records import Op, Signature, Tensor, Trace
from simulator.schedule.launch_plan import share_structure
from simulator.simulate.step import share_kernel_times


def resharded(trace: Trace, before: tuple[int, ...], after: tuple[int, ...]) -> Trace | None:
    """The trace of rank 0 among the ranks `after`, from that of rank 0 among the ranks `before`;
    None if the sizes of the weights do not follow from it, as in inference."""
    try:
        other = _Resharding(trace, before, after).trace()
    except UnknownSizeError:
        return None
    share_structure(trace, other)
    share_kernel_times(trace, other)
    return other


_BUFFERS = Derived[tuple[set[int], set[int]]]()
_TOUCHING = Derived[list[int]]()  # by the number of ranks: indices of ops on parts of weights


def _buffers(trace: Trace) -> tuple[set[int], set[int]]:
    gathered: set[int] = set()
    scattered: set[int] = set()
    for op in trace.ops:
        if op.signature.name == GATHER:
            gathered.update(op.storages)
        elif op.signature.name == SCATTER:
            scattered.add(op.storages[0])
            gathered.add(op.storages[1])
    return gathered, scattered


class _Resharding:
    """The ops on parts of weights, on the buffers of groups, and of the optimizer."""

    def __init__(self, trace: Trace, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        self.source, self.before, self.after = trace, before, after
        self.sizes = PartSizes(trace, len(before), len(after))
        # storages of buffers with all ranks' parts, and of those with one rank's parts
        self.gathered, self.scattered = _BUFFERS.get(trace, lambda: _buffers(trace))
        self.part_of: dict[int, int] = {}  # for each storage of a gathered weight
        for op in trace.ops:
            if op.signature.name == UNPACK:
                listed = tuple(op.signature.args["all_gather_input_split_sizes"])
                self.part_of.update(zip(op.storages[1:], self.sizes.parts[listed], strict=True))
        self.signatures: dict[tuple[int, Holding], Signature] = {}
        self.bytes: dict[int, int] = {}
        self.parts = Parts(self.sizes)
        self.tensor_bytes: dict[int, int] = {}  # by the identity of a tensor

    def trace(self) -> Trace:
        ops = list(self.source.ops)
        for place in _TOUCHING.get(self.source, self._touching, len(self.before)):
            ops[place] = self._op(ops[place])
        storages = [
            msgspec.structs.replace(s, nbytes=self.bytes[n]) if n in self.bytes else s
            for n, s in enumerate(self.source.storages)
        ]
        return msgspec.structs.replace(self.source, ops=ops, storages=storages)

    def _touching(self) -> list[int]:
        return [i for i, op in enumerate(self.source.ops) if self._touches_parts(op)]

    def _touches_parts(self, op: Op) -> bool:
        name = op.signature.name
        if name == VIEW:
            is_table = op.signature.args.get("size") == [len(self.before), -1]
            return is_table and (op.storages[0] in self.gathered or op.storages[0] in self.part_of)
        if name in (EMPTY, PART):
            return op.storages[0] in self.gathered or op.storages[0] in self.scattered
        return name in CHANGES or op.phase == "optimizer"

    def _op(self, op: Op) -> Op:
        first = op.storages[0]
        holding = Holding(
            first in self.gathered, first in self.scattered, self.part_of.get(first, 0)
        )
        key = id(op.signature), holding
        if key not in self.signatures:
            change = CHANGES.get(op.signature.name)
            self.signatures[key] = (
                updated(op.signature, self.parts)
                if change is None or op.phase == "optimizer"
                else change(op.signature, self.sizes, holding)
            )
        signature = self.signatures[key]
        if signature is op.signature:
            return op
        old = (*op.signature.inputs, *op.signature.outputs)
        new = (*signature.inputs, *signature.outputs)
        for storage, a, b in zip(op.storages, old, new, strict=True):
            if a is not b and self._bytes(a) == self.source.storages[storage].nbytes:
                self.bytes[storage] = self._bytes(b)
        collective = op.collective
        if collective is not None and collective.ranks == self.before:
            sides = signature.inputs[:1], signature.inputs[1:], signature.outputs
            nbytes = max(sum(map(self._bytes, side)) for side in sides)
            collective = msgspec.structs.replace(collective, ranks=self.after, message_bytes=nbytes)
        return msgspec.structs.replace(op, signature=signature, collective=collective)

    def _bytes(self, tensor: Tensor) -> int:
        """The bytes of a tensor of the source or of a signature in `signatures`."""
        nbytes = self.tensor_bytes.get(id(tensor))
        if nbytes is None:
            nbytes = self.tensor_bytes[id(tensor)] = tensor.nbytes
        return nbytes
