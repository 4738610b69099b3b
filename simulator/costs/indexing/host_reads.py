"""Indexing ops whose indices the host reads or copies."""

from __future__ import annotations

from simulator.records import Signature

MASKS = ("bool", "uint8")
"""The dtypes of an index that selects elements instead of numbering them."""


def indexes_by_data(op: Signature) -> bool:
    """Whether the host waits in an indexing op: to count the true elements of a mask, or to copy
    indices to the GPU. Assigning one number under a mask is a fill without a wait
    (`canDispatchToMaskedFill` of ATen/native/TensorAdvancedIndexingUtils.h)."""
    indices = op.tensors("indices")
    masked = any(t.dtype in MASKS for t in indices)
    if masked and len(indices) == 1 and "values" in op.names:
        values = op["values"]
        if values.numel == 1 and values.device == "cpu":
            return False
    return masked or any(t.device == "cpu" for t in indices)
