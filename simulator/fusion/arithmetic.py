"""What a generated kernel computes for an op: FLOPs as eager kernels do them, but other
instructions, since values stay in registers and functions are Triton's.

The slots were counted in the machine code that Triton's compiler and ptxas make for compute
capability 9.0, as the difference between two and four of a function in a row. A special function
(MUFU) keeps a quarter of a unit busy for 8 clocks a warp, so it counts 8 where that is more.
"""

from __future__ import annotations

from simulator.costs import Work
from simulator.fusion.costed import costed
from simulator.records import Signature

SLOTS: dict[str, int] = {
    "exp": 8, "exp2": 8, "expm1": 25, "log": 25, "log2": 25, "log1p": 29, "sin": 22, "cos": 22,
    "sigmoid": 16, "silu": 16, "tanh": 17, "erf": 28, "erfc": 30, "gelu": 32, "softplus": 41,
    "mish": 55, "hardswish": 5, "sqrt": 8, "rsqrt": 8, "reciprocal": 8, "div": 8,
    "relu": 1, "where": 2, "leaky_relu": 3, "elu": 26,
    "sigmoid_backward": 3, "tanh_backward": 3, "silu_backward": 22, "gelu_backward": 41,
    "threshold_backward": 2, "hardswish_backward": 7, "softplus_backward": 20,
    "index": 18, "gather": 18, "index_select": 18,
}  # fmt: skip
"""An element's issue slots. Of what is not listed each arithmetic function of the formula is one.
A sine is counted without its path for large angles, which makes it 124. An index that is loaded is
turned where it is negative, held against the bounds (config.assert_indirect_indexing), and made an
address."""

_TANH_GELU = {"gelu": 23, "gelu_backward": 33}
_POW = 74

_NORMALIZED = (7, 19)
"""FLOPs and slots of an inference batch norm an element: x − mean, var + ε, square root of 8,
reciprocal of 8, three more. Eager kernels find the channel's factors once."""

_PHILOX = 80
"""Slots of a random number: ten rounds, 55 instructions, of which 20 wide multiplies at half the
rate. Eager kernels share a round's four numbers among four elements."""

ROWS: dict[str, tuple[int, int]] = {
    # max, x − max, exp of 8, sum; once more x − max, a product with the reciprocal's 8. Walking
    # along, each maximum so far costs two more exps and choices between, and the exp comes anew
    "_softmax": (20, 50), "_log_softmax": (14, 50),
    "logsumexp": (11, 32),
    "_softmax_backward_data": (4, 6), "_log_softmax_backward_data": (12, 14),
    # two sums, then (x − mean)·scale·weight + bias; walking along Welford's step has a division
    "native_layer_norm": (9, 24), "native_group_norm": (9, 24), "_fused_rms_norm": (6, 7),
}  # fmt: skip
"""An element's slots where its row stays in registers, and where the kernel walks along it."""

PERSISTENT = 1024
"""Elements of a row that one kernel keeps in registers; a longer one it walks along, more than once
where what comes after the sum reads it again (torch/_inductor/choices.py,
`should_use_persistent_reduction`)."""

_ROWS, _APART = 64, 64  # rows a multiprocessor, and elements of one

_APPLIED = 5  # of a norm's slots: subtract, scale, weight, bias

_REDUCING = {"norm", "softmax", "reduction", "batch_norm", "batch_norm_backward",
             "weight_gradient", "norm_input_gradient"}  # fmt: skip


def arithmetic(op: Signature, persistent: int = PERSISTENT) -> tuple[int, int]:
    """FLOPs and instructions of an op in a generated kernel, loads and stores excepted, or in
    another that keeps rows of up to `persistent` elements in registers."""
    found = costed(op) or ()
    flops = sum(w.flops for w in found)
    name = op.name.split(".")[1]
    if name in ROWS and found:  # however many kernels it is in eager mode
        return flops, max(_slots(op, work, persistent) for work in found)
    if "batch_norm." in op.name and not op.arg("training", op.arg("train", False)):
        return _NORMALIZED[0] * op.out.numel, _NORMALIZED[1] * op.out.numel
    return flops, sum(_slots(op, work, persistent) for work in found)


def in_registers(rows: int, apart: bool, units: int) -> int:
    """Elements of a row at most that a kernel keeps in registers: of many rows that it reads
    `apart`, otherwise than they lie in memory, only short ones (`Reduction.num_splits` of ir.py,
    `get_reduction_hint` of codegen/simd_kernel_features.py)."""
    return _APART if apart and rows >= _ROWS * units else PERSISTENT


def applied(op: Signature) -> int:
    """Of a norm's slots those that come after its statistics."""
    return _APPLIED * op.outputs[0].numel


def folded(op: Signature) -> int:
    """The instructions that Inductor saves of a division by a constant: it multiplies by the
    reciprocal (`div_prim` of torch/_inductor/lowering.py)."""
    constant = op.name == "aten.div.Tensor" and len(op.inputs) == 1
    return (SLOTS["div"] - 1) * op.outputs[0].numel if constant else 0


def _slots(op: Signature, work: Work, persistent: int) -> int:
    name = op.name.split(".")[1].removesuffix("_")
    if work.family in _REDUCING:
        if name in ROWS:
            return ROWS[name][work.dims.get("cols", 0) > persistent] * op.inputs[0].numel
        return work.instructions
    elements = op.outputs[0].numel if op.outputs else 0
    if work.family == "random":
        return (_PHILOX + 2) * elements
    if op.arg("approximate", "none") == "tanh" and name in _TANH_GELU:
        return _TANH_GELU[name] * elements
    if name == "pow" and work.flops:
        return (_POW if work.instructions > 30 * elements else work.flops // elements) * elements
    if name == "div" and op.name.endswith("Scalar"):
        return elements
    return SLOTS[name] * elements if name in SLOTS else max(work.flops, elements)
