"""Values that are written in pieces: gradients of tables, and concatenations of many operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.lowering.read_keys import read_key
from simulator.fusion.node import Key, Node
from simulator.records import Op

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering

_SUM_BYTES = 4  # sums are kept in fp32


def scatter(lowering: Lowering, index: int, op: Op, reads: dict[Key, int]) -> None:
    """Add zeros, then atomic sums into the rows that were looked up, both in full precision; a loop
    casts the gradient (`embedding_dense_backward` of torch/_decomp)."""
    value, table = lowering.flow.makes[index][0], op.outputs[0]
    source = op.inputs[0]
    wide = lowering.inductor and table.itemsize < _SUM_BYTES
    held: Key = next(lowering.number) if wide else value
    item = _SUM_BYTES if wide else table.itemsize
    lowering.nodes.append(
        Node(
            "pointwise",
            table.numel,
            writes={held: table.numel * item},
            ops=(index,),
            instructions=table.numel,
        )
    )
    node = lowering.node("pointwise", source.numel, 1, True, reads, (index,), 0, source.numel * 4)
    node.writes[held] = node.reads[held] = source.numel * item  # the cast also reads the sums
    node.atomic = True
    lowering.nodes.append(node)
    if wide:
        lowering.make(index, {held: table.numel * item}, [(value, table)], 0, table.numel)


def accumulate(lowering: Lowering, index: int, op: Op) -> None:
    """Add a copy of the old values, then atomic sums into the indexed elements (`index_put_` of
    lowering.py)."""
    value, out, added = lowering.flow.makes[index][0], op.outputs[0], op.signature["values"]
    first = lowering.node(
        "pointwise", out.numel, 1, True, lowering.inputs(index, op, "self"), (index,), 0, out.numel
    )
    first.writes[value] = out.nbytes
    node = lowering.node(
        "pointwise",
        added.numel,
        1,
        True,
        lowering.inputs(index, op, "indices", "values"),
        (index,),
        added.numel,
        added.numel * 4,
    )
    node.writes[value] = node.reads[value] = min(added.numel * out.itemsize, out.nbytes)
    node.atomic = True
    lowering.nodes += [first, node]


def concatenate(lowering: Lowering, index: int, op: Op) -> None:
    """Write each part into its place with a separate kernel (`ConcatKernel` of ir.py)."""
    before: Key | None = None
    for place, (value, tensor) in enumerate(
        zip(lowering.flow.reads[index], op.inputs, strict=True)
    ):
        reads = {read_key(lowering, index, op, place, value): tensor.nbytes}
        node = lowering.node("pointwise", tensor.numel, 1, True, reads, (index,), 0, tensor.numel)
        last = place == len(op.inputs) - 1
        key = lowering.flow.makes[index][0] if last else next(lowering.number)
        node.writes[key] = tensor.nbytes
        node.alone = True
        if before is not None:
            node.reads[before] = 0  # a reader of the last part needs all parts
        lowering.nodes.append(node)
        before = key
