"""Library calls of a compiled step, and the kernels that Inductor adds around them. Products may
leave their bias to a loop or be padded; convolutions run channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import proxy

from msgspec.structs import replace

from simulator.fusion.dataflow import Value
from simulator.fusion.kinds import is_pointwise
from simulator.fusion.lowering.library.biases import without_bias, without_bias_gradient
from simulator.fusion.lowering.library.layouts import (
    channels_last,
    needs_copy,
    relaid,
    to_channels_last,
)
from simulator.fusion.lowering.library.padded_products import PaddedProducts, is_outside
from simulator.fusion.lowering.library.strides import crosses, joins, unpadded
from simulator.fusion.lowering.reducing import reduce
from simulator.fusion.node import Key, Node
from simulator.records import Op, Signature, Tensor, row_major

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering


_FULL_BYTES = 4  # bytes per element in full precision
_CHAIN = 4  # maximum number of ops searched back from a gradient


class LibraryCalls:
    """Adds the library calls of a lowering, which owns this object. Its reference to the lowering
    is weak, so that the lowering and its nodes are freed with the last reference to them, without
    the garbage collector."""

    def __init__(self, lowering: Lowering, products: PaddedProducts) -> None:
        self.lowering: Lowering = proxy(lowering)
        self.products = products
        self.plain: dict[int, Signature] = {}
        self.channels_last = lowering.inductor and channels_last(lowering.trace)
        self.relaid: dict[int, Signature] = {}
        self.turned: dict[Key, Key] = {}
        self.across: dict[object, Key] = {}
        self.unpadded = (
            unpadded(lowering.trace, lowering.flow) if lowering.inductor else set[Value]()
        )

    def lower(self, index: int, op: Op) -> None:
        """Add a call that reads and writes memory. If a loop adds the bias, the loop reads the bias
        too."""
        flow = self.lowering.flow
        if self.lowering.only is None and self.lowering.graphs.eager(index):
            self._eager(index, op)
            return
        if self._unfused_bias(index, op) or self._bias_gradient(index, op):
            return
        call = self.products.padded(index, op)
        if call is not None:
            self.products.add(index, op, call)
            return
        self._call(index, op, None, flow.reads[index], flow.makes[index])

    def _call(
        self, index: int, op: Op, call: Op | None, reads: Sequence[Key], makes: Sequence[Key]
    ) -> None:
        """Add the op, or `call` in its place, which reads and writes these values."""
        node = Node("library", 1, ops=(index,), call=call)
        call = call or op
        turns = self.channels_last and "convolution" in op.name
        if turns:
            node.call = relaid(call, self.relaid)
        for place, (value, tensor) in enumerate(zip(reads, call.inputs, strict=True)):
            if place == 0 and not turns and "convolution.d" in op.name:
                value = self._laid(index, value, tensor)
            if turns and is_outside(self.lowering, value):
                value = self._turn(index, value, tensor)
            elif turns and place == 0 and "backward" in op.name and self._permuted(value, tensor):
                value = self._relaid_by_cudnn(index, op, value, tensor)
            self.lowering.store(value)
            node.reads[self._joined(index, value, tensor)] = tensor.nbytes
        for value, tensor in zip(makes, call.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        self.lowering.nodes.append(node)

    def _permuted(self, value: Key, tensor: Tensor, ops: int = _CHAIN) -> bool:
        """Whether an image, or a value from which loops compute it, is a permuted view of rows with
        channels last. Inductor writes such an image in an order that cuDNN cannot read."""
        node = self.lowering.computed.get(value)
        if node is None or node.numel != tensor.numel or not ops:
            return False
        if sorted(node.shape) == sorted(tensor.shape) and node.shape != tensor.shape:
            return True
        index = self.lowering.computed_by[value]
        operands = zip(
            self.lowering.flow.reads[index], self.lowering.trace.ops[index].inputs, strict=True
        )
        return any(self._permuted(each, operand, ops - 1) for each, operand in operands)

    def _relaid_by_cudnn(self, index: int, op: Op, value: Key, tensor: Tensor) -> Key:
        """The key of a gradient whose layout cuDNN does not support: the call copies the gradient
        (`convolution_backward` of ATen/native/Convolution.cpp)."""
        self.lowering.store(value)
        plain = replace(tensor, stride=row_major(tensor.shape))
        copy = Signature("aten.clone.default", (plain,), (to_channels_last(tensor),), ("self",), {})
        key = next(self.lowering.number)
        self.lowering.nodes.append(
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
        """Add an op outside all graphs, unchanged."""
        node = Node("library", 1, ops=(index,))
        for value, tensor in zip(self.lowering.flow.reads[index], op.inputs, strict=True):
            self.lowering.store(value)
            node.reads[value] = tensor.nbytes
        for value, tensor in zip(self.lowering.flow.makes[index], op.outputs, strict=True):
            node.writes[value] = tensor.nbytes
        self.lowering.nodes.append(node)

    def _laid(self, index: int, value: Key, tensor: Tensor) -> Key:
        """The key of an image, or of a copy if the image is a view of a library's result that is
        not row-major (`require_stride_order` of ir.py)."""
        loop = value in self.lowering.computed or not self.lowering.inductor
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
        key = next(self.lowering.number)
        copy.writes[key] = tensor.nbytes
        self.lowering.nodes.append(copy)
        return key

    def _joined(self, index: int, value: Key, tensor: Tensor) -> Key:
        """The key of a value, or of a copy of it in two cases. In the first case, the rows of the
        value are padded and the call cannot skip the padding. In the second case, the value is the
        gradient of an image. The backward graph computes it row-major, because no convolution
        requires channels last, and the call reads the value through a view that needs another
        order."""
        node = self.lowering.computed.get(value)
        if node is None:
            return value
        backward = self.lowering.trace.ops[index].phase == "backward"
        if self.channels_last and backward and crosses(node, tensor):
            view = value, frozenset(zip(tensor.stride, tensor.shape, strict=True))
            if view not in self.across:
                self.across[view] = self._copy(index, value, tensor)
            return self.across[view]
        if value in self.unpadded or not tensor.contiguous or not joins(node, tensor):
            return value
        return self._copy(index, value, tensor)

    def _unfused_bias(self, index: int, op: Op) -> bool:
        """Whether a loop adds the bias, as for every convolution, and for a full-precision product
        if only loops read its result (`should_prefer_unfused_addmm` of fx_passes/post_grad.py;
        config.keep_addmm_fused_for_half_dtypes)."""
        if not self.lowering.inductor:
            return False
        flow, out = self.lowering.flow, op.outputs[0]
        if op.name == "aten.addmm.default":
            value = flow.makes[index][0]
            users = flow.users.get(value, [])
            loops = users and all(is_pointwise(self.lowering.trace.ops[u].signature) for u in users)
            half = op.signature["self"].itemsize < _FULL_BYTES
            if half or value in flow.stored or not loops:
                return False
        plain = without_bias(op, self.plain)
        if plain is None:
            return False
        call, place = plain
        factors = [value for i, value in enumerate(flow.reads[index]) if i != place]
        bias = flow.reads[index][place]
        product: Key = next(self.lowering.number)
        self._call(index, op, call, factors, [product])
        reads = {product: out.nbytes, bias: op.inputs[place].nbytes}
        self.lowering.make(index, reads, [(flow.makes[index][0], out)], out.numel, out.numel * 3)
        return True

    def _bias_gradient(self, index: int, op: Op) -> bool:
        """Whether a reduction computes the bias's gradient, as for every convolution."""
        call = without_bias_gradient(op, self.plain) if self.lowering.inductor else None
        if call is None:
            return False
        flow, gradient, bias = self.lowering.flow, op.signature["grad_output"], op.outputs[-1]
        value = flow.reads[index][op.signature.names.index("grad_output")]
        channels = bias.numel
        last = self.channels_last or gradient.stride[1] == 1
        reduce(
            self.lowering,
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

    def _turn(self, index: int, value: Value, tensor: Tensor) -> Key:
        """The key of an input or a weight in channels-last layout; a kernel converts it once if
        necessary."""
        if not needs_copy(tensor):
            return value
        if value not in self.turned:
            self.turned[value] = self._copy(index, value, tensor)
        return self.turned[value]
