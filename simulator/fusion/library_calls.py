"""Library calls of a compiled step: what Inductor does around and to them. Products may leave their
bias to a loop or be padded; convolutions are run channels last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from simulator.fusion.dataflow import Value
from simulator.fusion.layouts import channels_last, needs_copy, relaid
from simulator.fusion.node import Node
from simulator.fusion.padding import PRODUCTS, Seconds, compute_bound, padded
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
        self.turned: set[Value] = set()

    def lower(self, index: int, op: Op) -> None:
        """A call that reads and writes memory. Its bias, where that is added by a loop, is read by
        the loop."""
        if self._unfused_bias(index, op):
            return
        node = Node("library", 1, ops=(index,))
        call = self._padded(index, op)
        if call is not None:
            self._pad(index, op, call, node)
            return
        turns = self.channels_last and "convolution" in op.name
        if turns:
            node.call = relaid(op, self.relaid)
        for value, tensor in zip(self.made.flow.reads[index], op.inputs, strict=True):
            if turns and self._outside(value):
                self._turn(index, value, tensor)
            self.made.store(value)
            node.reads[value] = tensor.nbytes
        for value, tensor in zip(self.made.flow.makes[index], op.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        self.made.nodes.append(node)

    def _unfused_bias(self, index: int, op: Op) -> bool:
        """A full-precision product whose result only loops read leaves its bias to them
        (`unfuse_bias_add_to_pointwise`; config.keep_addmm_fused_for_half_dtypes)."""
        users = self.made.flow.users.get(self.made.flow.makes[index][0], [])
        half = op.outputs[0].itemsize < 4
        loops = users and all(self.made.kind(user) != "library" for user in users)
        if op.name != "aten.addmm.default" or half or not loops or not self.made.inductor:
            return False
        bias, *factors = zip(self.made.flow.reads[index], op.inputs, strict=True)
        key = id(op.signature)
        if key not in self.plain:
            self.plain[key] = replace(
                op.signature, name="aten.mm.default", inputs=op.inputs[1:],
                names=("self", "mat2"), args={}, aliases=(),
            )  # fmt: skip
        product, out = next(self.made.number), op.outputs[0]
        call = replace(op, signature=self.plain[key], storages=op.storages[1:])
        node = Node("library", 1, ops=(index,), call=call)
        for value, tensor in factors:
            self.made.store(value)
            node.reads[value] = tensor.nbytes
        node.writes[product] = out.nbytes
        self.made.nodes.append(node)
        reads = {product: out.nbytes, bias[0]: bias[1].nbytes}
        self.made.make(
            index, reads, [(self.made.flow.makes[index][0], out)], out.numel, out.numel * 3
        )
        return True

    def _padded(self, index: int, op: Op) -> Signature | None:
        if self.seconds is None or "mm." not in op.name or op.phase == "optimizer":
            return None
        free = tuple(
            tensor.contiguous and not self._outside(value) and value in self.made.loops
            for value, tensor in zip(self.made.flow.reads[index], op.inputs, strict=True)
        )
        key = id(op.signature), free
        if key not in self.wide:
            bound = op.name in PRODUCTS and compute_bound(op.signature, self.made.gpu)
            self.wide[key] = padded(op.signature, free, self.seconds) if bound else None
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

    def _turn(self, index: int, value: Value, tensor: Tensor) -> None:
        """A kernel that lays an input or a weight channels last; what a loop made lies so."""
        if value in self.turned or not needs_copy(tensor):
            return
        self.turned.add(value)
        self.made.nodes.append(
            Node(
                "pointwise", tensor.numel, reads={value: tensor.nbytes},
                writes={next(self.made.number): tensor.nbytes}, ops=(index,),
                instructions=tensor.numel * 3, alone=True,
            )
        )  # fmt: skip
