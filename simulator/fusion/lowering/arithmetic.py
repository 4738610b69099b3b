"""What a generated kernel computes for an op: FLOPs as eager kernels do them, but other
instructions, since values stay in registers and functions are Triton's.

The slots are those that chains of 4 and 16 of a function took on an H200
(`generated_function_chain`), so that what its instructions wait for is in them; those of gradients
were counted in the machine code that Triton's compiler and ptxas make for compute capability 9.0.
A special function (MUFU) keeps a quarter of a unit busy for 8 clocks a warp, so it counts 8 at
least.
"""

from __future__ import annotations

import sys

from simulator.costs import Work
from simulator.fusion.costed import costed
from simulator.records import Signature

SLOTS: dict[str, int] = {
    "exp": 9, "exp2": 8, "expm1": 28, "log": 26, "log2": 28, "log1p": 29, "sin": 27, "cos": 29,
    "sigmoid": 16, "silu": 19, "tanh": 30, "erf": 34, "erfc": 36, "gelu": 37, "softplus": 36,
    "mish": 52, "hardswish": 8, "sqrt": 11, "rsqrt": 8, "reciprocal": 8, "div": 8,
    "relu": 5, "clamp": 10, "hardtanh": 10, "clamp_min": 5, "clamp_max": 5, "maximum": 5,
    "minimum": 5, "where": 2, "leaky_relu": 3, "elu": 30,
    "sigmoid_backward": 3, "tanh_backward": 3, "silu_backward": 25, "gelu_backward": 47,
    "threshold_backward": 2, "hardswish_backward": 7, "softplus_backward": 20,
    "index": 18, "gather": 18, "index_select": 18,
}  # fmt: skip
"""An element's issue slots. Of what is not listed each arithmetic function of the formula is one.
A sine is counted without its path for large angles, which makes it 124; a hyperbolic tangent with
both its paths, which warps of ordinary numbers take one after the other (13 with one). The larger
or smaller of two numbers is chosen after a look for NaN. An index that is loaded is turned where it
is negative, held against the bounds (config.assert_indirect_indexing), and made an address."""

_TANH_GELU = {"gelu": 29, "gelu_backward": 39}
_POW = 81

_NORMALIZED = (7, 19)
"""FLOPs and slots of an inference batch norm an element: x − mean, var + ε, square root of 8,
reciprocal of 8, three more. Eager kernels find the channel's factors once."""

_PHILOX, _SHARED_PHILOX = 80, 50
"""Slots of a random number: ten rounds, 55 instructions, of which 20 wide multiplies at half the
rate. Eager kernels share a round's four numbers among four elements, and so does one by hand, which
passes them on through shared memory: 35 in its machine code, and seven barriers."""

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

_REDUCING = {
    "norm",
    "softmax",
    "reduction",
    "batch_norm",
    "batch_norm_backward",
    "weight_gradient",
    "norm_input_gradient",
}


def arithmetic(
    op: Signature, persistent: int = PERSISTENT, by_hand: bool = False
) -> tuple[int, int]:
    """FLOPs and instructions of an op in a generated kernel, loads and stores excepted, that keeps
    rows of up to `persistent` elements in registers; or in one that is written `by_hand`, which
    rescales its sums so far once a part of a row, not for each element."""
    if by_hand:
        persistent = sys.maxsize
    found = costed(op) or ()
    flops = sum(w.flops for w in found)
    name = op.name.split(".")[1]
    if name in ROWS and found:  # however many kernels it is in eager mode
        return flops, max(_slots(op, work, persistent, by_hand) for work in found)
    if "batch_norm." in op.name and not op.arg("training", op.arg("train", False)):
        return _NORMALIZED[0] * op.out.numel, _NORMALIZED[1] * op.out.numel
    return flops, sum(_slots(op, work, persistent, by_hand) for work in found)


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


def _slots(op: Signature, work: Work, persistent: int, by_hand: bool) -> int:
    name = op.name.split(".")[1].removesuffix("_")
    if work.family in _REDUCING:
        if name in ROWS:
            return ROWS[name][work.dims.get("cols", 0) > persistent] * op.inputs[0].numel
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
    return SLOTS[name] * elements if name in SLOTS else max(work.flops, elements)
