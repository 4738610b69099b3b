"""Library calls of a compiled step: what Inductor does around and to them. Products may leave their
bias to a loop or be padded; convolutions are run channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from simulator.fusion.biases import without_bias, without_bias_gradient
from simulator.fusion.dataflow import Value
from simulator.fusion.layouts import channels_last, needs_copy, relaid
from simulator.fusion.node import Key, Node
from simulator.fusion.padding import Seconds, padded
from simulator.fusion.strides import joins, whole
from simulator.records import Op, Signature, Tensor

if TYPE_CHECKING:
    from simulator.fusion.lowering import Lowering


class LibraryCalls:
    """Adds the library calls of `made`; `seconds` of a product say whether padding pays."""

    def __init__(self, made: Lowering, seconds: Seconds | None) -> None:
        self.made, self.seconds = made, seconds
        self.wide: dict[object, Signature | None] = {}
        self.plain: dict[int, Signature] = {}
        self.channels_last = made.inductor and channels_last(made.trace)
        self.relaid: dict[int, Signature] = {}
        self.turned: dict[Key, Key] = {}
        self.whole = whole(made.trace, made.flow) if made.inductor else set[Value]()

    def lower(self, index: int, op: Op) -> None:
        """A call that reads and writes memory. Its bias, where that is added by a loop, is read by
        the loop."""
        flow = self.made.flow
        if self.made.only is None and self.made.graphs.eager(index):
            self._eager(index, op)
            return
        if self._unfused_bias(index, op) or self._bias_gradient(index, op):
            return
        call = self._padded(index, op)
        if call is not None:
            self._pad(index, op, call, Node("library", 1, ops=(index,)))
            return
        self._call(index, op, None, flow.reads[index], flow.makes[index])

    def _call(
        self, index: int, op: Op, call: Op | None, reads: Sequence[Key], makes: Sequence[Key]
    ) -> None:
        """The op as it is, or `call` in its place, on these values."""
        node = Node("library", 1, ops=(index,), call=call)
        call = call or op
        turns = self.channels_last and "convolution" in op.name
        if turns:
            node.call = relaid(call, self.relaid)
        for place, (value, tensor) in enumerate(zip(reads, call.inputs, strict=True)):
            if place == 0 and not turns and "convolution.d" in op.name:
                value = self._laid(index, value, tensor)
            if turns and self._outside(value):
                value = self._turn(index, value, tensor)
            self.made.store(value)
            node.reads[self._joined(index, value, tensor)] = tensor.nbytes
        for value, tensor in zip(makes, call.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        self.made.nodes.append(node)

    def _eager(self, index: int, op: Op) -> None:
        """An op outside all graphs, as it is."""
        node = Node("library", 1, ops=(index,))
        for value, tensor in zip(self.made.flow.reads[index], op.inputs, strict=True):
            self.made.store(value)
            node.reads[value] = tensor.nbytes
        for value, tensor in zip(self.made.flow.makes[index], op.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        self.made.nodes.append(node)

    def _laid(self, index: int, value: Key, tensor: Tensor) -> Key:
        """An image, or a copy of it where a view of what a library made is no row-major one
        (`require_stride_order` of ir.py)."""
        loop = value in self.made.made or not self.made.inductor
        if loop or tensor.contiguous or (len(tensor.shape) == 4 and not needs_copy(tensor)):
            return value
        return self._copy(index, value, tensor)

    def _copy(self, index: int, value: Key, tensor: Tensor) -> Key:
        copy = Node(
            "pointwise", tensor.numel, reads={value: tensor.nbytes}, ops=(index,), alone=True,
            instructions=tensor.numel * 3,
        )  # fmt: skip
        key = next(self.made.number)
        copy.writes[key] = tensor.nbytes
        self.made.nodes.append(copy)
        return key

    def _joined(self, index: int, value: Key, tensor: Tensor) -> Key:
        """The value, or a copy of it where it lies in padded lines that the call cannot skip."""
        made = self.made.made.get(value)
        if made is None or value in self.whole or not tensor.contiguous or not joins(made, tensor):
            return value
        return self._copy(index, value, tensor)

    def _unfused_bias(self, index: int, op: Op) -> bool:
        """A convolution leaves its bias to a loop; a full-precision product too, where only loops
        read its result (config.keep_addmm_fused_for_half_dtypes)."""
        if not self.made.inductor:
            return False
        flow, out = self.made.flow, op.outputs[0]
        if op.name == "aten.addmm.default":
            users = flow.users.get(flow.makes[index][0], [])
            loops = users and all(self.made.kind(user) != "library" for user in users)
            if out.itemsize < 4 or not loops:
                return False
        found = without_bias(op, self.plain)
        if found is None:
            return False
        call, place = found
        factors = [value for i, value in enumerate(flow.reads[index]) if i != place]
        bias = flow.reads[index][place]
        product: Key = next(self.made.number)
        self._call(index, op, call, factors, [product])
        reads = {product: out.nbytes, bias: op.inputs[place].nbytes}
        self.made.make(index, reads, [(flow.makes[index][0], out)], out.numel, out.numel * 3)
        return True

    def _bias_gradient(self, index: int, op: Op) -> bool:
        """A convolution's bias has its gradient from a reduction."""
        call = without_bias_gradient(op, self.plain) if self.made.inductor else None
        if call is None:
            return False
        flow, gradient, bias = self.made.flow, op.signature["grad_output"], op.outputs[-1]
        value = flow.reads[index][op.signature.names.index("grad_output")]
        channels = bias.numel
        last = self.channels_last or gradient.stride[1] == 1
        self.made.reduce(
            index, channels, gradient.numel // max(channels, 1), not last,
            {value: gradient.nbytes}, [(flow.makes[index][-1], bias.nbytes)],
            (gradient.numel, gradient.numel * 3),
        )  # fmt: skip
        self._call(index, op, call, flow.reads[index], flow.makes[index][:-1])
        return True

    def _padded(self, index: int, op: Op) -> Signature | None:
        if self.seconds is None or "mm." not in op.name or op.phase == "optimizer":
            return None
        free = tuple(
            tensor.contiguous and not self._outside(value) and value in self.made.made
            for value, tensor in zip(self.made.flow.reads[index], op.inputs, strict=True)
        )
        key = id(op.signature), free
        if key not in self.wide:
            self.wide[key] = padded(op.signature, free, self.seconds)
        return self.wide[key]

    def _pad(self, index: int, op: Op, call: Signature, node: Node) -> None:
        """Each operand that grows is copied by a loop, computed there where it was pending."""
        for value, tensor, wide in zip(
            self.made.flow.reads[index], op.inputs, call.inputs, strict=True
        ):
            if tensor.shape == wide.shape:
                self.made.store(value)
                node.reads[value] = tensor.nbytes
                continue
            held = self.made.pending.get(value)
            copy = self.made.node(
                "pointwise", wide.numel, 1, True, {value: tensor.nbytes}, (index,), 0,
                wide.numel * 3,
            )  # fmt: skip
            key = next(self.made.number)
            copy.writes[key] = node.reads[key] = wide.nbytes
            copy.alone = held is None
            self.made.nodes.append(copy)
        for value, tensor in zip(self.made.flow.makes[index], call.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        node.call = replace(op, signature=call)
        self.made.nodes.append(node)

    def _outside(self, value: Value) -> bool:
        return self.made.trace.storages[value[0]].role in ("input", "weight", "buffer")

    def _turn(self, index: int, value: Value, tensor: Tensor) -> Key:
        """An input or a weight channels last, by a kernel once; what a loop made lies so."""
        if not needs_copy(tensor):
            return value
        if value not in self.turned:
            self.turned[value] = self._copy(index, value, tensor)
        return self.turned[value]
