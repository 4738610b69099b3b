"""Products whose operands loops pad to aligned rows (`pad_mm` of torch/_inductor/fx_passes)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import proxy

from msgspec.structs import replace

from simulator.fusion.dataflow import Value
from simulator.fusion.lowering.library.padding import Seconds, padded
from simulator.fusion.node import Node
from simulator.records import Op, Signature, Tensor

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering


def is_outside(lowering: Lowering, value: Value) -> bool:
    """Whether a value comes from outside the step: an input, a weight or a buffer."""
    return lowering.trace.storages[value[0]].role in ("input", "weight", "buffer")


class PaddedProducts:
    """Adds the padded products of a lowering; `seconds` predicts the time of a product, to decide
    whether padding pays; if it is None, no product is padded. As in `LibraryCalls`, the reference
    to the lowering is weak."""

    def __init__(self, lowering: Lowering, seconds: Seconds | None) -> None:
        self.lowering: Lowering = proxy(lowering)
        self.seconds = seconds
        self.wide: dict[object, Signature | None] = {}
        self.beside_zeros: set[Value] = set()

    def padded(self, index: int, op: Op) -> Signature | None:
        """The product on padded operands; None if it is not padded."""
        if self.seconds is None or "mm." not in op.name or op.phase == "optimizer":
            return None
        free = tuple(  # the time of padding a bias always counts
            place >= len(op.inputs) - 2
            and tensor.contiguous
            and not is_outside(self.lowering, value)
            and value in self.lowering.computed
            for place, (value, tensor) in enumerate(
                zip(self.lowering.flow.reads[index], op.inputs, strict=True)
            )
        )
        key = id(op.signature), free
        if key not in self.wide:
            self.wide[key] = padded(op.signature, free, self.seconds)
        return self.wide[key]

    def pads(self, index: int, value: Value) -> bool:
        """Whether the call pads every operand that is this value, so that a loop reads the
        value."""
        op = self.lowering.trace.ops[index]
        call = None if self._in_places(value) else self.padded(index, op)
        places = [i for i, read in enumerate(self.lowering.flow.reads[index]) if read == value]
        return call is not None and all(op.inputs[i].shape != call.inputs[i].shape for i in places)

    def _in_places(self, value: Value) -> bool:
        """Whether a value is a concatenation whose parts other ops read too, so that each part is
        written to its position in the result (`any_input_has_multi_consumers` of
        torch/_inductor/lowering.py)."""
        index = self.lowering.computed_by.get(value)
        if index is None or self.lowering.trace.ops[index].name != "aten.cat.default":
            return False
        flow = self.lowering.flow
        return any(len(flow.users[part]) > 1 for part in flow.reads[index])

    def add(self, index: int, op: Op, call: Signature) -> None:
        """Add a padded product. A loop copies each operand that grows, or computes it if it was
        pending. If other calls read an operand too, the loop that computes it writes it next to
        zeros, and it is copied for the next call (`cat` of torch/_inductor/lowering.py)."""
        node = Node("library", 1, ops=(index,))
        for value, tensor, wide in zip(
            self.lowering.flow.reads[index], op.inputs, call.inputs, strict=True
        ):
            often = len(self.lowering.flow.users[value]) > 1 and self._computed_here(index, value)
            if tensor.shape == wide.shape or often:
                self.lowering.store(value)
            first = often and value not in self.beside_zeros and self._padded_by_all(value)
            if tensor.shape == wide.shape or first:
                node.reads[value] = tensor.nbytes
            else:
                self._copied(index, value, tensor, tensor if often else wide, node, often)
            if tensor.shape != wide.shape and often:
                self.beside_zeros.add(value)
                rest = wide.numel - tensor.numel
                zeros = Node("pointwise", rest, ops=(index,), instructions=rest)
                self._written(zeros, rest * tensor.itemsize, node)
        for value, tensor in zip(self.lowering.flow.makes[index], call.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        node.call = replace(op, signature=call)
        self.lowering.nodes.append(node)

    def _computed_here(self, index: int, value: Value) -> bool:
        """Whether a loop of the same pass computes a value."""
        ops, producer = self.lowering.trace.ops, self.lowering.computed_by.get(value)
        return producer is not None and ops[producer].phase == ops[index].phase

    def _padded_by_all(self, value: Value) -> bool:
        """Whether no op needs the operand without padding."""
        users = self.lowering.flow.users[value]
        calls = [user for user in users if self.lowering.kind(user) == "library"]
        return value not in self.lowering.flow.stored and all(
            self.pads(user, value) for user in calls
        )

    def _copied(
        self, index: int, value: Value, before: Tensor, tensor: Tensor, reader: Node, fuses: bool
    ) -> None:
        """Add a loop that reads a call's operand of layout `before` and writes it, with padding, as
        `tensor`."""
        copy = self.lowering.node(
            "pointwise",
            tensor.numel,
            1,
            True,
            {value: before.nbytes},
            (index,),
            0,
            tensor.numel * 3,
        )
        copy.alone = value not in self.lowering.pending and not fuses
        self._written(copy, tensor.nbytes, reader)

    def _written(self, loop: Node, nbytes: int, reader: Node) -> None:
        key = next(self.lowering.number)
        loop.writes[key] = reader.reads[key] = nbytes
        self.lowering.nodes.append(loop)
