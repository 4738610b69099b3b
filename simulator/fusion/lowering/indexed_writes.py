"""Writes to elements that indices name: a loop over the indices changes a stored copy of the old
values (`ir.Scatter` of torch/_inductor)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.costed import costed
from simulator.fusion.dataflow import Value
from simulator.fusion.kinds import adds, in_a_loop, is_indexed_write
from simulator.fusion.node import Node
from simulator.records import Op

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering

_FILLS = ("zeros", "ones", "full", "new_zeros", "new_ones", "new_full", "zero", "fill",
          "zeros_like", "ones_like", "full_like")  # fmt: skip
_IN_PLACE = ("index_put", "_unsafe_index_put", "index_copy", "index_fill", "index_add")
"""Writes that Inductor decomposes to `index_put`, which overwrites a stored tensor that nothing
reads later (`inplaceable_ops` of torch/_inductor/fx_passes/reinplace.py); other writes copy it."""

_STORED_PARTS = 4


def writes_by_index(lowering: Lowering, index: int, op: Op) -> bool:
    """Add a copy of the old values, unless they are overwritten in place, and a loop that writes to
    the indexed elements. Return False for ops that are lowered in another way."""
    signature = op.signature
    if not is_indexed_write(signature) or not in_a_loop(signature):
        return False
    old, value = lowering.flow.reads[index][0], lowering.flow.makes[index][0]
    if _is_comparison(lowering, op, old):
        return False
    works = costed(signature)
    assert works, f"{op.name} has no cost"  # kinds gives it a loop
    work = works[-1]
    elements, touched = int(work.dims["elements"]), work.write_bytes
    rest = [name for name in dict.fromkeys(signature.names) if name != "self"]
    others = lowering.inputs(index, op, *rest) if rest else {}
    out, sums = op.outputs[0], adds(signature)
    node = lowering.node(
        "pointwise", elements, 1, True, others, (index,), sums * elements, 4 * elements
    )
    node.atomic = True
    before: list[Node] = []
    if _in_place(lowering, index, op, old):
        node.writes[old] = 0  # so that it follows the loop that writes the old values
        node.reads[old] = touched if sums else 0
    else:
        reads = lowering.inputs(index, op, "self")
        before = [lowering.node("pointwise", out.numel, 1, True, reads, (index,), 0, out.numel)]
        before[0].writes[value] = out.nbytes
        node.reads[value] = touched if sums else 0
        if not signature.arg("include_self", True):
            before.append(_emptied(lowering, index, op, value, elements, touched))
    node.writes[value] = touched
    lowering.nodes += [*before, node, *_put_back(lowering, index, op, value)]
    return True


def _put_back(lowering: Lowering, index: int, op: Op, value: Value) -> list[Node]:
    """A loop that rewrites a whole input or buffer of which the network has overwritten parts:
    after the last part, and after each fourth, since a value of more than four reads is stored
    (`realize_reads_threshold`)."""
    storage, part = lowering.trace.storages[value[0]], op.outputs[0].nbytes
    if storage.born >= 0 or part == storage.nbytes or not op.name.split(".")[1].endswith("_"):
        return []
    waiting = lowering.parts[value[0]] = lowering.parts.get(value[0], 0) + 1
    if value not in lowering.flow.stored and waiting < _STORED_PARTS:
        return []
    lowering.parts[value[0]] = 0
    elements = storage.nbytes // op.outputs[0].itemsize
    node = Node("pointwise", elements, ops=(index,), instructions=waiting * elements, atomic=True)
    node.reads = {(value[0], 0): storage.nbytes, value: min(waiting * part, storage.nbytes)}
    node.writes[value] = storage.nbytes
    return [node]


def _emptied(
    lowering: Lowering, index: int, op: Op, value: Value, elements: int, touched: int
) -> Node:
    """A loop that overwrites the indexed elements with zeros, before a sum without the old
    values."""
    places = lowering.inputs(index, op, "index")
    node = lowering.node("pointwise", elements, 1, True, places, (index,), 0, 4 * elements)
    node.reads[value], node.writes[value], node.atomic = 0, touched, True
    return node


def _in_place(lowering: Lowering, index: int, op: Op, old: Value) -> bool:
    """Whether a write overwrites a stored tensor. A part of a tensor that the network overwrites is
    copied first, since its base is read to put the part back."""
    name = op.name.split(".")[1]
    storage = lowering.trace.storages[old[0]]
    later = any(user > index for user in lowering.flow.users.get(old, ()))
    if name.endswith("_"):
        owned = op.outputs[0].nbytes == storage.nbytes
    else:
        owned = storage.role == "activation"
    decomposed = name.removesuffix("_") in _IN_PLACE
    return decomposed and owned and not later and old not in lowering.pending


def _is_comparison(lowering: Lowering, op: Op, old: Value) -> bool:
    """Whether a write of one number into a row of equal numbers becomes a comparison of the places
    with the index (`scatter_upon_const_tensor` of torch/_inductor/fx_passes/post_grad.py)."""
    if op.name.split(".")[1].removesuffix("_") != "scatter" or "src" in op.signature.names:
        return False
    maker = lowering.computed_by.get(old, -1)
    if maker < 0 or lowering.trace.ops[maker].name.split(".")[1].removesuffix("_") not in _FILLS:
        return False
    shape, places = op.outputs[0].shape, op.signature["index"].shape
    dim = int(op.signature.arg("dim")) % max(len(shape), 1)
    return len(shape) == len(places) and all(
        size == (1 if axis == dim else shape[axis]) for axis, size in enumerate(places)
    )
