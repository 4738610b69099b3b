"""A training step as torch's partitioner sees it: the tensors that forward ops write, and the
forward and backward ops that read them.

The ops are those of eager mode, so a norm is one op; views are ops too. A trace names storages, not
tensors. An op reads the last tensor of the storage and version with the same shape and strides;
equal pieces of one op (the parts of a split) are one tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulator.fusion.dataflow import Dataflow, Value, dataflow
from simulator.fusion.passes.op_types import base, is_fusible, is_random, is_view
from simulator.records import Op, Tensor, Trace

FAR = 10**9
"""The distance from the backward pass of a tensor that the backward pass does not need."""


@dataclass(frozen=True)
class JointTensor:
    """A tensor: the forward op that computes it (−1 if it is older than the step), its value, its
    bytes, and whether the op has several results."""

    op: int
    value: Value
    nbytes: int
    several: bool


def cache_by_signature(predicate: Callable[[Op], bool]) -> Callable[[Op], bool]:
    """A predicate whose results are cached by signature."""
    known: dict[int, bool] = {}

    def cached(op: Op) -> bool:
        key = id(op.signature)
        if key not in known:
            known[key] = predicate(op)
        return known[key]

    return cached


class Joint:
    """`reads[i]` and `makes[i]` are tensors (indices into `tensors`) of forward op i, `users[t]`
    the forward ops that read a tensor, `readers[t]` the backward ops; `backward_reads` is the
    reverse of `readers`. `fusible` decides which ops fuse with each other. `op_distance` and
    `distance` are the numbers of steps from an op and a tensor to the backward pass, `FAR` if the
    backward pass does not need them."""

    def __init__(self, trace: Trace, fusible: Callable[[Op], bool] = is_fusible) -> None:
        self.trace = trace
        self._is_fusible = cache_by_signature(fusible)
        self.flow: Dataflow = dataflow(trace, whole=True)
        self.tensors: list[JointTensor] = []
        self.reads: dict[int, tuple[int, ...]] = {}
        self.makes: dict[int, tuple[int, ...]] = {}
        self.users: list[list[int]] = []
        self.readers: list[list[int]] = []
        self.backward_reads: dict[int, tuple[int, ...]] = {}
        self._known: dict[tuple[Value, Tensor], int] = {}
        self._oldest: dict[Value, int] = {}
        last: dict[int, int] = {}
        for reads, makes in zip(self.flow.reads, self.flow.makes, strict=True):
            for storage, version in (*reads, *makes):
                last[storage] = max(last.get(storage, 0), version)
        self._last = last
        for index, op in enumerate(trace.ops):
            if op.phase == "forward":
                self._forward(index, op)
            elif op.phase == "backward":
                self._backward(index, op)
        self.view = {i: is_view(trace.ops[i]) for i in self.makes}
        self._measure()

    @property
    def needed(self) -> list[int]:
        """The tensors that the backward pass reads."""
        return [tensor for tensor, readers in enumerate(self.readers) if readers]

    def fuse(self, tensor: int, user: int) -> bool:
        """Whether a tensor's op fuses with a reader (`is_fusible`). A concatenation absorbs its
        inputs, and no op absorbs a concatenation."""
        op = self.trace.ops[user]
        if base(op) == "cat":
            return True
        record = self.tensors[tensor]
        own = record.several or (record.op >= 0 and self._is_fusible(self.trace.ops[record.op]))
        return own and self._is_fusible(op)

    def written_over(self, tensor: int) -> bool:
        """Whether a tensor's value is overwritten later in the step."""
        storage, version = self.tensors[tensor].value
        return version < self._last[storage]

    def writes_in_place(self, op: int) -> bool:
        """Whether an op writes a storage in place, or reads a value that is overwritten later. Such
        an op cannot run again."""
        touched = (*self.makes[op], *self.reads[op])
        return any(self.tensors[t].value[1] > 0 for t in self.makes[op]) or any(
            self.written_over(t) for t in touched
        )

    def computed_forward(self, value: Value) -> bool:
        """Whether this step's forward pass computes a value."""
        storage, version = value
        return value in self._oldest and (version > 0 or self.trace.storages[storage].born >= 0)

    def draws(self, op: int) -> bool:
        """Whether an op is random."""
        return is_random(self.trace.ops[op])

    # -- building ---------------------------------------------------------------------------------

    def _forward(self, index: int, op: Op) -> None:
        if self._same(index, op):
            self.reads[index] = self.makes[index] = ()
            return
        self.reads[index] = self._read(index, op)
        for tensor in self.reads[index]:
            self.users[tensor].append(index)
        tensor_of: dict[tuple[Value, Tensor], int] = {}
        for value, tensor in zip(self.flow.makes[index], op.outputs, strict=True):
            key = value, tensor
            tensor_of[key] = tensor_of.get(key, 0) + tensor.numel * tensor.itemsize
        for (value, tensor), nbytes in tensor_of.items():
            self._known[value, tensor] = self._new(
                JointTensor(index, value, nbytes, len(op.outputs) > 1)
            )
        self.makes[index] = tuple(self._known[key] for key in tensor_of)

    def _same(self, index: int, op: Op) -> bool:
        """Whether an op returns its input, like `detach`. Such an op is left out of the graph."""
        outputs = self.flow.makes[index]
        same = len(outputs) == len(op.inputs) == 1 and op.inputs == op.outputs
        return (
            same
            and outputs == self.flow.reads[index]
            and (outputs[0], op.outputs[0]) in self._known
        )

    def _backward(self, index: int, op: Op) -> None:
        self.backward_reads[index] = self._read(index, op, known_only=True)
        for tensor in self.backward_reads[index]:
            self.readers[tensor].append(index)

    def _read(self, index: int, op: Op, known_only: bool = False) -> tuple[int, ...]:
        reads: dict[int, None] = {}
        for value, tensor in zip(self.flow.reads[index], op.inputs, strict=True):
            place = self._known.get((value, tensor), self._oldest.get(value))
            if place is None:
                if known_only:
                    continue
                place = self._new(JointTensor(-1, value, self._free_of_old(value, tensor), False))
            reads[place] = None
        return tuple(reads)

    def _new(self, record: JointTensor) -> int:
        self.tensors.append(record)
        self.users.append([])
        self.readers.append([])
        self._oldest.setdefault(record.value, len(self.tensors) - 1)
        return len(self.tensors) - 1

    def _free_of_old(self, value: Value, tensor: Tensor) -> int:
        """Bytes of a tensor that is older than the step; 0 for a parameter, which stays in memory
        in any case."""
        is_permanent = self.trace.storages[value[0]].role in (
            "weight",
            "buffer",
            "optimizer",
            "gradient",
        )
        return 0 if is_permanent else tensor.numel * tensor.itemsize

    def _measure(self) -> None:
        self.distance = [FAR] * len(self.tensors)
        self.op_distance: dict[int, int] = {}
        for index in reversed(self.makes):
            results = self.makes[index]
            for tensor in results:
                self.distance[tensor] = self._distance(tensor)
            nearest = min((self.distance[t] for t in results), default=FAR)
            several = any(self.tensors[t].several for t in results)
            self.op_distance[index] = min(nearest + several, FAR)
        for tensor, record in enumerate(self.tensors):
            if record.op < 0:
                self.distance[tensor] = self._distance(tensor)

    def _distance(self, tensor: int) -> int:
        if self.readers[tensor]:
            return 1 if self.users[tensor] else 0
        return min((self.op_distance[u] + 1 for u in self.users[tensor]), default=FAR)
