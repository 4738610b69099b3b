"""Values that are written in pieces: gradients of tables, and concatenations of many operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.dataflow import Value
from simulator.fusion.lowering.access import Part, read, value_of
from simulator.fusion.lowering.indexed_writes import writes_by_index
from simulator.fusion.lowering.read_keys import read_key
from simulator.fusion.node import Key, Node
from simulator.records import Op, Tensor

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering

_JOINED = 8  # maximum operands that one loop concatenates (config.max_pointwise_cat_inputs)
_SUM_BYTES = 4  # sums are in fp32
_SUMMED_IN_FULL = (
    "aten.embedding_dense_backward.default",
    "aten.max_pool2d_with_indices_backward.default",
)
_OVERLAPS = ("aten.unfold_backward.default", "aten.col2im.default")
"""Sums of windows that overlap, which torch/_decomp adds to zeros by index."""


def in_pieces(lowering: Lowering, index: int, op: Op, reads: dict[Key, int]) -> bool:
    """Lower an op that writes its result in pieces. Return False for other ops."""
    if op.name in (*_SUMMED_IN_FULL, *_OVERLAPS):
        _scatter(lowering, index, op, reads)
    elif writes_by_index(lowering, index, op):
        return True
    elif joins(op) and len(op.inputs) > _JOINED and lowering.inductor:
        _concatenate(lowering, index, op)
    else:
        return False
    return True


def joins(op: Op) -> bool:
    """Whether an op concatenates its operands. A loop over the result computes each operand for
    each element, and selects one."""
    return op.name in ("aten.cat.default", "aten.stack.default")


def _scatter(lowering: Lowering, index: int, op: Op, reads: dict[Key, int]) -> None:
    """Add zeros, then atomic sums into the rows that were looked up, or the windows. Some are
    summed in full precision; a loop casts them (`embedding_dense_backward` of torch/_decomp)."""
    value, table = lowering.flow.makes[index][0], op.outputs[0]
    source = op.inputs[0]
    in_full = lowering.inductor and op.name in _SUMMED_IN_FULL
    wide = in_full and table.itemsize < _SUM_BYTES
    sums: Key = next(lowering.number) if wide else value
    item = _SUM_BYTES if wide else table.itemsize
    lowering.nodes.append(
        Node(
            "pointwise",
            table.numel,
            writes={sums: table.numel * item},
            ops=(index,),
            instructions=table.numel,
        )
    )
    node = lowering.node("pointwise", source.numel, 1, True, reads, (index,), 0, source.numel * 4)
    node.writes[sums] = node.reads[sums] = source.numel * item  # the cast also reads the sums
    node.atomic = True
    lowering.nodes.append(node)
    if wide:
        lowering.make(index, {sums: table.numel * item}, [(value, table)], 0, table.numel)


def _concatenate(lowering: Lowering, index: int, op: Op) -> None:
    """Write the operands into their places (`ConcatKernel` of ir.py). The node that computes an
    operand writes it there; views are copied, and one launch copies all inputs of the graph."""
    whole = lowering.flow.makes[index][0]
    inputs: dict[Key, int] = {}
    for place, (value, tensor) in enumerate(
        zip(lowering.flow.reads[index], op.inputs, strict=True)
    ):
        key = _read_alone(read_key(lowering, index, op, place, value))
        if _is_input(lowering, index, value):
            inputs[key] = inputs.get(key, 0) + tensor.nbytes
        elif key != value or not _in_place(lowering, index, value, tensor, whole):
            lowering.nodes.append(_copy(lowering, index, {key: tensor.nbytes}, tensor, whole))
    if inputs:
        copy = _copy(lowering, index, inputs, op.outputs[0], whole)
        copy.rows = copy.instructions = sum(inputs.values()) // op.outputs[0].itemsize
        copy.writes[whole] = sum(inputs.values())
        copy.alone = len(inputs) > 1
        lowering.nodes.append(copy)


def _read_alone(key: Key) -> Key:
    """The key of an operand that is read by a loop over this operand only, not over the result."""
    if not isinstance(key, Part) or not key.way or key.way[0][:1] != ("cat",):
        return key
    return read(value_of(key), key.offset, key.way[1:])


def _copy(
    lowering: Lowering, index: int, reads: dict[Key, int], tensor: Tensor, whole: Value
) -> Node:
    numel = tensor.numel
    node = lowering.node("pointwise", numel, 1, True, reads, (index,), 0, numel)
    node.writes[whole], node.piece_of = tensor.nbytes, whole
    return node


def _is_input(lowering: Lowering, index: int, value: Value) -> bool:
    """Whether the graph of an op reads a value that it does not compute."""
    maker = lowering.computed_by.get(value, -1)
    if maker < 0:
        node = _writer(lowering, value)
        maker = node.ops[-1] if node is not None else -1
    ops = lowering.trace.ops
    return maker < 0 or ops[maker].phase != ops[index].phase


def _writer(lowering: Lowering, value: Value) -> Node | None:
    return next((node for node in reversed(lowering.nodes) if value in node.writes), None)


def _in_place(lowering: Lowering, index: int, value: Value, tensor: Tensor, whole: Value) -> bool:
    """Let the node that computes an operand write it into its place, if it can. Return whether it
    does."""
    pending = lowering.pending.get(value)
    if pending is not None:
        if lowering.computed[value].numel != tensor.numel:
            return False
        if lowering.flow.users[value] != [index]:
            lowering.store(value)
            _becomes_piece(lowering.nodes[-1], value, whole)
            return True
        node = _copy(lowering, index, {value: tensor.nbytes}, tensor, whole)
        node.instructions = 0
        lowering.nodes.append(node)
        return True
    node = _writer(lowering, value)
    if node is None or node.writes != {value: tensor.nbytes} or node.call or node.atomic:
        return False
    _becomes_piece(node, value, whole)
    return True


def _becomes_piece(node: Node, value: Value, whole: Value) -> None:
    node.piece_of, node.writes[whole] = whole, node.writes[value]
