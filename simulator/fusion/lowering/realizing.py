"""The values that a compiled step writes to memory.

Rules of torch/_inductor: `StorageBox.should_realize_on_reuse` and `has_exceeded_max_reads` (ir.py),
`realize_reads_threshold`, `realize_acc_reads_threshold`, `realize_opcount_threshold` (config.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.dataflow import Value
from simulator.fusion.node import Key
from simulator.records import Op, Tensor

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering

_READS_IF_SHARED, _READS, _OPS = 4, 8, 30
_READ_TWICE = (
    *("silu", "gelu", "mish", "hardswish", "leaky_relu", "elu", "celu", "selu", "softplus"),
    "log_sigmoid_forward",
)
"""Functions that torch decomposes into ops of which several read the argument, in float32
(`pw_cast_for_opmath` of torch/_decomp)."""
_SIXTEEN_READS = "aten.upsample_bicubic2d.default"
"""An op that reads 16 elements of its input for each element of its result."""


def must_store(
    lowering: Lowering,
    value: Value,
    users: list[int],
    reads: dict[Key, int],
    ops: tuple[int, ...],
) -> bool:
    """Whether a value that `ops` compute from `reads` for `users` is written to memory."""
    if value in lowering.flow.stored or len(reads) > _READS:
        return True
    if any(lowering.trace.ops[op].name == _SIXTEEN_READS for op in ops):
        return True
    if lowering.only is None and lowering.graphs.cross(ops[-1], users):
        return True
    kinds = [_reader(lowering, user, value) for user in users]
    if "library" in kinds:
        return True
    parts = sum(_parts(lowering, user, value) for user in users)
    often = parts > 1 or "reduction" in kinds
    return often and (len(reads) > _READS_IF_SHARED or len(ops) > _OPS)


def _reader(lowering: Lowering, user: int, value: Value) -> str:
    """The kind of op that reads a value; a loop reads a convolution's bias."""
    op = lowering.trace.ops[user]
    if lowering.inductor and op.name == "aten.convolution.default" and "bias" in op.signature.names:
        reads = lowering.flow.reads[user]
        if reads[op.signature.names.index("bias")] == value and reads.count(value) == 1:
            return "pointwise"
    if lowering.inductor and lowering.products.pads(user, value):
        return "pointwise"
    return lowering.kind(user)


def _parts(lowering: Lowering, user: int, value: Value) -> int:
    """The number of different reads of a value by an op."""
    op = lowering.trace.ops[user]
    if lowering.inductor and _reads_twice(op):
        return 2
    places = [i for i, read in enumerate(lowering.flow.reads[user]) if read == value]
    if len(places) < 2 or not lowering.inductor:
        return 1
    return len({(lowering.offsets[user][i], op.inputs[i].shape) for i in places})


def _reads_twice(op: Op) -> bool:
    return op.name.split(".")[1].removesuffix("_") in _READ_TWICE


def widened(lowering: Lowering, value: Value, tensor: Tensor, users: list[int]) -> int:
    """How many times the bytes of its dtype a stored value takes: a value that only such a function
    reads is stored in float32, because the casts to its dtype and back cancel out."""
    if value in lowering.flow.stored or not lowering.inductor or len(users) != 1:
        return 1
    half = tensor.dtype in ("float16", "bfloat16")
    return 2 if half and _reads_twice(lowering.trace.ops[users[0]]) else 1
