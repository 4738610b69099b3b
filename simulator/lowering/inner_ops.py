"""The ops that an op of ATen calls internally: each goes through the dispatcher, sets up its
operands and allocates its result, like an op called from Python.

A convolution with a bias adds it by `add_` after cuDNN (`ATen/native/Convolution.cpp`). `copy_`
makes a tensor with gaps contiguous, and `masked_fill` is `clone` and `masked_fill_`. A batch norm
in ATen's own kernels copies the mean first, and a group norm sets up the operands of its last
kernel like a separate op.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.costs import Work
from simulator.records import Signature

_FAMILIES = {"pointwise", "copy", "memcpy"}
_GROUPS = "groups"
"""Variant of the last kernel of a group norm, which computes element by element."""
_FAST_PATH = ("_transformer_encoder_layer_fwd", "_native_multi_head_attention")
"""Parts of the names of ops that call other kinds of ops."""
_AS_PLAIN_OPS = {"gemm": 2, "attention": 5, "norm": 2, "fill": 0}
"""The number of plain ops that take the host as long as a called op, by the family of its kernel.
With the seconds of `xeon-h200` and 5.4 µs for a plain op: a product takes 6.4 µs and three views
of 1.5 µs each, attention 15 µs and eight views, a norm 11 µs."""
_LIBRARY = (
    "mm",
    "_rnn",
    "_attention",
    "embedding_dense_backward",
    "_foreach_",
    "_fused_",
    "fused.",
)
"""Parts of the names of ops whose further kernels are not separate ops, because a library, or the
op itself, launches these kernels."""


def inner_ops(op: Signature, kernels: Sequence[Work]) -> int:
    """The number of ops that an op calls: one for each kernel that copies or computes element by
    element, except the op's main kernel. For the fast path of attention, it is the number of plain
    ops that take as long as the ops that it calls."""
    if any(part in op.name for part in _FAST_PATH):
        return sum(_AS_PLAIN_OPS.get(work.family, 1) for work in kernels)
    if any(part in op.name for part in _LIBRARY):
        return 0
    elementwise = sum(
        work.family in _FAMILIES or work.dims.get("variant") == _GROUPS for work in kernels
    )
    return min(elementwise, max(len(kernels) - 1, 0))
