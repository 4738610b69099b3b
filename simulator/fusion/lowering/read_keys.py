"""The offset and the order in which an op reads a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.dataflow import Value
from simulator.fusion.lowering.access import moves, read, relaid, way
from simulator.fusion.node import Key
from simulator.records import Op, Tensor

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering


def read_key(lowering: Lowering, index: int, op: Op, place: int, value: Value) -> Key:
    """The key with which an op reads its input number `place`."""
    if not lowering.inductor:
        return value
    tensor = op.inputs[place]
    if value in lowering.computed:
        tensor = relaid(tensor, lowering.computed[value])
    how = way(op, place, tensor, lowering.kind(index) == "pointwise")
    in_order = lowering.calls.channels_last and tensor.dense and not moves(op, place)
    if "batch_norm" in op.name or in_order:
        how = ()  # images are in the layout that their reader needs
    elif how and value in lowering.computed and _sizes(tensor) != _sizes(lowering.computed[value]):
        how = (("view", tensor.shape), *how)  # no order of loops makes the two reads equal
    return read(value, lowering.offsets[index][place], how)


def _sizes(tensor: Tensor) -> list[int]:
    return sorted(size for size in tensor.shape if size > 1)
