"""The ops that an op of ATen calls inside: each goes through the dispatcher, sets up its operands
and allocates its result, as one called from Python does.

Recorded kernels show them: a convolution's bias is added behind cuDNN's kernel, a tensor with gaps
is copied to a contiguous one, `masked_fill` is a clone and a fill, a batch norm in ATen's own
kernels copies the mean first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.lowering.lower import Lowered
from simulator.records import Signature, Trace

_OPS = {"pointwise", "copy", "memcpy"}
_LIBRARY = (
    "mm",
    "_rnn",
    "_attention",
    "embedding_dense_backward",
    "_foreach_",
    "_fused_",
    "fused.",
)
"""Parts of the names of ops whose further kernels are a library's, or one op's by design."""


def inner_ops(trace: Trace, lowered: Lowered) -> NDArray[np.int64]:
    """Number of ops that each op calls [ops]: its kernels that copy or compute element by element,
    except its own."""
    signatures, rows = trace.signatures
    calls = np.array([_calls_ops(signature) for signature in signatures], np.bool_)[rows]
    kernels = np.bincount(lowered.op_of, minlength=len(rows))
    is_op = np.array([work.family in _OPS for work in lowered.works], np.bool_)
    inner = np.bincount(lowered.op_of[is_op[lowered.work_of]], minlength=len(rows))
    return np.minimum(inner, np.maximum(kernels - 1, 0)) * calls


def _calls_ops(signature: Signature) -> bool:
    return not any(part in signature.name for part in _LIBRARY)
