"""Library calls of a compiled step: what Inductor does around and to them. Products may leave their
bias to a loop or be padded; convolutions are run channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from simulator.fusion.dataflow import Value
from simulator.fusion.kinds import is_pointwise
from simulator.fusion.lowering.biases import without_bias, without_bias_gradient
from simulator.fusion.lowering.layouts import channels_last, needs_copy, relaid, turned
from simulator.fusion.lowering.padding import Seconds, padded
from simulator.fusion.lowering.reducing import reduce
from simulator.fusion.lowering.strides import crosses, joins, whole
from simulator.fusion.node import Key, Node
from simulator.records import Op, Signature, Tensor, row_major

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering


_FULL_BYTES = 4  # an element in full precision
_CHAIN = 4  # ops from a gradient back to what it is made of


class LibraryCalls:
    """Adds the library calls of `made`; `seconds` of a product say whether padding pays."""

    def __init__(self, made: Lowering, seconds: Seconds | None) -> None:
        self.made, self.seconds = made, seconds
        self.wide: dict[object, Signature | None] = {}
        self.plain: dict[int, Signature] = {}
        self.channels_last = made.inductor and channels_last(made.trace)
        self.relaid: dict[int, Signature] = {}
        self.turned: dict[Key, Key] = {}
        self.across: dict[object, Key] = {}
        self.beside_zeros: set[Value] = set()
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
            elif turns and place == 0 and "backward" in op.name and self._permuted(value, tensor):
                value = self._relaid_by_cudnn(index, op, value, tensor)
            self.made.store(value)
            node.reads[self._joined(index, value, tensor)] = tensor.nbytes
        for value, tensor in zip(makes, call.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        self.made.nodes.append(node)

    def _permuted(self, value: Key, tensor: Tensor, ops: int = _CHAIN) -> bool:
        """Is an image, or what loops make it of, a permuted view of lines with channels last? Such
        a one Inductor writes in an order of its own."""
        made = self.made.made.get(value)
        if made is None or made.numel != tensor.numel or not ops:
            return False
        if sorted(made.shape) == sorted(tensor.shape) and made.shape != tensor.shape:
            return True
        index = self.made.maker[value]
        operands = zip(self.made.flow.reads[index], self.made.trace.ops[index].inputs, strict=True)
        return any(self._permuted(each, seen, ops - 1) for each, seen in operands)

    def _relaid_by_cudnn(self, index: int, op: Op, value: Key, tensor: Tensor) -> Key:
        """A gradient that lies in no order of cuDNN's: the call copies it (`convolution_backward`
        of ATen/native/Convolution.cpp)."""
        self.made.store(value)
        plain = replace(tensor, stride=row_major(tensor.shape))
        copy = Signature("aten.clone.default", (plain,), (turned(tensor),), ("self",), {})
        key = next(self.made.number)
        self.made.nodes.append(
            Node(
                "library",
                1,
                reads={value: tensor.nbytes},
                writes={key: tensor.nbytes},
                ops=(index,),
                call=Op(copy, op.module, op.phase, (0, 0)),
            )
        )
        return key

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
            "pointwise",
            tensor.numel,
            reads={value: tensor.nbytes},
            ops=(index,),
            alone=True,
            instructions=tensor.numel * 3,
        )
        key = next(self.made.number)
        copy.writes[key] = tensor.nbytes
        self.made.nodes.append(copy)
        return key

    def _joined(self, index: int, value: Key, tensor: Tensor) -> Key:
        """The value, or a copy of it where it lies in padded lines that the call cannot skip, or is
        an image's gradient, row by row in the backward graph (which has no convolution to lay it
        channels last for), and the call looks across."""
        made = self.made.made.get(value)
        if made is None:
            return value
        backward = self.made.trace.ops[index].phase == "backward"
        if self.channels_last and backward and crosses(made, tensor):
            seen = value, frozenset(zip(tensor.stride, tensor.shape, strict=True))
            if seen not in self.across:
                self.across[seen] = self._copy(index, value, tensor)
            return self.across[seen]
        if value in self.whole or not tensor.contiguous or not joins(made, tensor):
            return value
        return self._copy(index, value, tensor)

    def _unfused_bias(self, index: int, op: Op) -> bool:
        """A convolution leaves its bias to a loop; a full-precision product too, where only loops
        read its result (`should_prefer_unfused_addmm` of fx_passes/post_grad.py;
        config.keep_addmm_fused_for_half_dtypes)."""
        if not self.made.inductor:
            return False
        flow, out = self.made.flow, op.outputs[0]
        if op.name == "aten.addmm.default":
            value = flow.makes[index][0]
            users = flow.users.get(value, [])
            loops = users and all(is_pointwise(self.made.trace.ops[u].signature) for u in users)
            half = op.signature["self"].itemsize < _FULL_BYTES
            if half or value in flow.kept or not loops:
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
        reduce(
            self.made,
            index,
            channels,
            gradient.numel // max(channels, 1),
            not last,
            {value: gradient.nbytes},
            [(flow.makes[index][-1], bias.nbytes)],
            (gradient.numel, gradient.numel * 3),
        )
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

    def pads(self, index: int, value: Value) -> bool:
        """Is every operand of this call that is this value padded, and thus read by a loop?"""
        op = self.made.trace.ops[index]
        call = None if self._in_places(value) else self._padded(index, op)
        places = [i for i, read in enumerate(self.made.flow.reads[index]) if read == value]
        return call is not None and all(op.inputs[i].shape != call.inputs[i].shape for i in places)

    def _in_places(self, value: Value) -> bool:
        """Is it a concatenation whose parts others read, so that each is written to its place
        (`any_input_has_multi_consumers` of torch/_inductor/lowering.py)?"""
        index = self.made.maker.get(value)
        if index is None or self.made.trace.ops[index].name != "aten.cat.default":
            return False
        flow = self.made.flow
        return any(len(flow.users[part]) > 1 for part in flow.reads[index])

    def _pad(self, index: int, op: Op, call: Signature, node: Node) -> None:
        """Each operand that grows is copied by a loop, computed there where it was pending. What
        other calls read too is written beside zeros by the loop that makes it, and copied for the
        next call (`cat` of torch/_inductor/lowering.py)."""
        for value, tensor, wide in zip(
            self.made.flow.reads[index], op.inputs, call.inputs, strict=True
        ):
            often = len(self.made.flow.users[value]) > 1 and self._made_here(index, value)
            if tensor.shape == wide.shape or often:
                self.made.store(value)
            first = often and value not in self.beside_zeros and self._padded_by_all(value)
            if tensor.shape == wide.shape or first:
                node.reads[value] = tensor.nbytes
            else:
                self._copied(index, value, tensor if often else wide, node, often)
            if tensor.shape != wide.shape and often:
                self.beside_zeros.add(value)
                rest = wide.numel - tensor.numel
                zeros = Node("pointwise", rest, ops=(index,), instructions=rest)
                self._written(zeros, rest * tensor.itemsize, node)
        for value, tensor in zip(self.made.flow.makes[index], call.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        node.call = replace(op, signature=call)
        self.made.nodes.append(node)

    def _made_here(self, index: int, value: Value) -> bool:
        """Did a loop of this pass make it?"""
        ops, made = self.made.trace.ops, self.made.maker.get(value)
        return made is not None and ops[made].phase == ops[index].phase

    def _padded_by_all(self, value: Value) -> bool:
        """Does nobody need it as it is?"""
        users = self.made.flow.users[value]
        calls = [user for user in users if self.made.kind(user) == "library"]
        return value not in self.made.flow.kept and all(self.pads(user, value) for user in calls)

    def _copied(self, index: int, value: Value, tensor: Tensor, reader: Node, fuses: bool) -> None:
        """A loop as long as `tensor` that makes an operand of a call."""
        copy = self.made.node(
            "pointwise",
            tensor.numel,
            1,
            True,
            {value: tensor.nbytes},
            (index,),
            0,
            tensor.numel * 3,
        )
        copy.alone = value not in self.made.pending and not fuses
        self._written(copy, tensor.nbytes, reader)

    def _written(self, loop: Node, nbytes: int, reader: Node) -> None:
        key = next(self.made.number)
        loop.writes[key] = reader.reads[key] = nbytes
        self.made.nodes.append(loop)

    def _outside(self, value: Value) -> bool:
        return self.made.trace.storages[value[0]].role in ("input", "weight", "buffer")

    def _turn(self, index: int, value: Value, tensor: Tensor) -> Key:
        """An input or a weight channels last, by a kernel once; what a loop made lies so."""
        if not needs_copy(tensor):
            return value
        if value not in self.turned:
            self.turned[value] = self._copy(index, value, tensor)
        return self.turned[value]
