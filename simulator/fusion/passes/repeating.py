"""A trace whose backward pass recomputes the tensors that are not saved."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from simulator.fusion.dataflow import Value
from simulator.fusion.passes.joint import Joint
from simulator.records import Op, Storage, Trace, touches


def repeated(joint: Joint, saved: Collection[int]) -> Trace:
    """The trace with a copy of every forward op that the backward pass needs again, host work
    included, before the first op that needs it (as in `reordering_to_mimic_autograd_engine`).
    Returns the trace itself if no op is repeated. Other tensors are freed after their last use in
    the forward pass.
    """
    return repeated_from(joint, saved)[0]


def repeated_from(joint: Joint, saved: Collection[int]) -> tuple[Trace, list[int]]:
    """The trace of `repeated`, and the index in the old trace of each of its ops."""
    repeating = _Repeating(joint, saved)
    repeated = repeating.done()
    return repeated, repeating.source


class _Repeating:
    def __init__(self, joint: Joint, saved: Collection[int]) -> None:
        self.joint, self.trace = joint, joint.trace
        self.exactly = frozenset(saved)
        self.values = {joint.tensors[t].value for t in saved}
        self.again: dict[int, int] = {}  # the new storage of a recomputed one
        self.copied: set[int] = set()
        self.ops: list[Op] = []
        self.source: list[int] = []
        self.place: list[int] = []
        self.ends: list[int] = []  # storages freed before an op are freed before its recomputed ops

    def done(self) -> Trace:
        trace = self.trace
        for index, op in enumerate(trace.ops):
            self.ends.append(len(self.ops))
            needed = self.joint.backward_reads.get(index, ())
            for each in sorted(self._missing([t for t in needed if not self._there(t)])):
                self._copy(each)
            self.place.append(len(self.ops))
            if needed:
                values = (*self.joint.flow.reads[index], *self.joint.flow.makes[index])
                op = replace(op, storages=tuple(map(self._storage, values)))
            self.ops.append(op)
            self.source.append(index)
        if not self.copied:
            return trace
        self.ends.append(len(self.ops))
        return trace.with_ops(self.ops, self._lives(), self.place)

    def _there(self, tensor: int) -> bool:
        value = self.joint.tensors[tensor].value
        return value in self.values or not self.joint.computed_forward(value)

    def _missing(self, tensors: Collection[int]) -> set[int]:
        """The forward ops that recompute these tensors, without those that ran again already."""
        missing: set[int] = set()
        waiting = list(tensors)
        while waiting:
            tensor = waiting.pop()
            producer = self.joint.tensors[tensor].op
            if (
                producer < 0
                or tensor in self.exactly
                or producer in missing
                or producer in self.copied
            ):
                continue
            if self._there(tensor) and not self.joint.view[producer]:
                continue
            missing.add(producer)
            waiting += self.joint.reads[producer]
        return missing

    def _copy(self, index: int) -> None:
        op, flow = self.trace.ops[index], self.joint.flow
        self.copied.add(index)
        if not self.joint.view[index]:
            for storage, _ in flow.makes[index]:
                self.again.setdefault(storage, len(self.trace.storages) + len(self.again))
        reads = map(self._storage, flow.reads[index])
        makes = (
            self._storage(value) if self.joint.view[index] else self.again[value[0]]
            for value in flow.makes[index]
        )
        self.ops.append(replace(op, phase="backward", storages=(*reads, *makes)))
        self.source.append(index)

    def _storage(self, value: Value) -> int:
        """The storage of a value in the backward pass."""
        lost = value not in self.values and self.joint.computed_forward(value)
        return self.again.get(value[0], value[0]) if lost else value[0]

    def _lives(self) -> list[Storage]:
        first, last = touches(self.ops)
        backward = min(self.joint.backward_reads)
        crossing = {self.joint.tensors[t].value[0] for t in self.joint.needed}
        backward_storages = {storage for storage, _ in self.values}
        storages: list[Storage] = []
        for number, s in enumerate(self.trace.storages):
            freed = None if s.freed is None else self.ends[s.freed]
            if freed is not None and s.freed is not None and 0 <= s.born < backward:
                end = last.get(number, -1) + 1
                over = number in crossing and number not in backward_storages and s.freed > backward
                freed = end if over else max(freed, end)
            born = s.born if s.born < 0 else self.place[s.born]
            storages.append(replace(s, born=born, freed=freed))
        for old, new in self.again.items():
            storages.append(replace(self.trace.storages[old], born=first[new], freed=last[new] + 1))
        return storages
