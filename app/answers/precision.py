"""The precision of a step: the dtype of the tensors that most of its FLOPs read and write."""

from __future__ import annotations

from collections import Counter

from simulator.lowering.lower import gpu_works
from simulator.records import Signature, Trace

_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}


def precision(trace: Trace) -> str | None:
    """The floating-point dtype in which a step does most of its FLOPs, such as "bf16"; None if it
    has no tensors of such a dtype. Ops count equally if none of them has FLOPs."""
    signatures, rows = trace.signatures
    flops: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for row, count in Counter(rows).items():
        signature = signatures[row]
        dtype = _dtype(signature)
        if dtype is not None:
            flops[dtype] += count * sum(work.flops for work in gpu_works(signature) or ())
            calls[dtype] += count
    return max(calls, key=lambda dtype: (flops[dtype], calls[dtype]), default=None)


def _dtype(op: Signature) -> str | None:
    """The dtype of the first floating-point tensor that an op writes, or else reads. Weights of
    whole numbers and 8-bit formats belong to ops that write the activations' dtype."""
    known = (_SHORT.get(tensor.dtype) for tensor in (*op.outputs, *op.inputs))
    return next((dtype for dtype in known if dtype is not None), None)
