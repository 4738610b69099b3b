"""The arithmetic of an op in a generated kernel: the FLOPs of eager kernels, but other
instructions, since values stay in registers and functions are Triton's (the `slots` of its traits).
"""

from __future__ import annotations

import sys

from simulator.costs import Work, traits_of
from simulator.fusion.costed import costed
from simulator.fusion.kinds import REDUCING_FAMILIES
from simulator.records import Signature

_TANH_GELU = {"gelu": 29, "gelu_backward": 39}
_POW = 81

_NORMALIZED = (7, 19)
"""FLOPs and slots of an inference batch norm per element: x − mean, var + ε, a square root of 8
slots, a reciprocal of 8 slots, and three others. Eager kernels compute a channel's factors once."""

_PHILOX, _SHARED_PHILOX = 80, 50
"""Slots of a random number: ten rounds, 55 instructions, of which 20 are wide multiplies at half
the rate. Eager kernels share a round's four numbers among four elements. A handwritten kernel
shares them too, through shared memory: it takes 35 instructions in its machine code, and seven
barriers."""

PERSISTENT = 1024
"""Maximum number of elements of a row that a kernel holds in registers. It loops along a longer
row, and loops a second time if ops after the sum read the row (torch/_inductor/choices.py,
`should_use_persistent_reduction`)."""

_ROWS, _APART = 64, 64  # rows per multiprocessor, and elements of a row

_APPLIED = 5  # slots of a norm after its statistics: subtract, scale, weight, bias


def arithmetic(
    op: Signature, persistent: int = PERSISTENT, by_hand: bool = False
) -> tuple[int, int]:
    """FLOPs and instructions of an op, without loads and stores. A generated kernel holds rows of
    up to `persistent` elements in registers. A kernel written `by_hand` rescales its running sums
    once per part of a row, not per element."""
    if by_hand:
        persistent = sys.maxsize
    works = costed(op) or ()
    flops = sum(w.flops for w in works)
    name = op.name.split(".")[1]
    if traits_of(name).row_slots and works:  # whatever the number of eager kernels
        return flops, max(_slots(op, work, persistent, by_hand) for work in works)
    if "batch_norm." in op.name and not op.arg("training", op.arg("train", False)):
        return _NORMALIZED[0] * op.out.numel, _NORMALIZED[1] * op.out.numel
    return flops, sum(_slots(op, work, persistent, by_hand) for work in works)


def in_registers(rows: int, apart: bool, units: int) -> int:
    """The longest row, in elements, that a kernel holds in registers. The limit is smaller if the
    kernel reads many rows `apart`, that is, across the order of memory (`Reduction.num_splits` of
    ir.py, `get_reduction_hint` of codegen/simd_kernel_features.py)."""
    return _APART if apart and rows >= _ROWS * units else PERSISTENT


def applied(op: Signature) -> int:
    """The slots of a norm after its statistics."""
    return _APPLIED * op.outputs[0].numel


def folded(op: Signature) -> int:
    """The instructions that Inductor saves in a division by a constant: it multiplies by the
    reciprocal (`div_prim` of torch/_inductor/lowering.py)."""
    constant = op.name == "aten.div.Tensor" and len(op.inputs) == 1
    return ((traits_of("div").slots or 1) - 1) * op.outputs[0].numel if constant else 0


def _slots(op: Signature, work: Work, persistent: int, by_hand: bool) -> int:
    name = op.name.split(".")[1].removesuffix("_")
    traits = traits_of(name)
    if work.family in REDUCING_FAMILIES:
        if traits.row_slots:
            long: bool = work.dims.get("cols", 0) > persistent
            return traits.row_slots[long] * op.inputs[0].numel
        return work.instructions
    elements = op.outputs[0].numel if op.outputs else 0
    if work.family == "random":
        return ((_SHARED_PHILOX if by_hand else _PHILOX) + 2) * elements
    if op.arg("approximate", "none") == "tanh" and name in _TANH_GELU:
        return _TANH_GELU[name] * elements
    if name == "pow" and work.flops:
        return (_POW if work.instructions > 30 * elements else work.flops // elements) * elements
    if name == "div" and op.name.endswith("Scalar"):
        return elements
    if traits.slots is None:  # a slot for each arithmetic function of its formula
        return max(work.flops, elements)
    return traits.slots * elements
