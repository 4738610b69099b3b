"""Ops that the host waits for, and ops that a CUDA graph cannot capture. The rules were compared
with 97 calls that were captured or refused on an H200 (`attention_paths.jsonl.gz`)."""

from __future__ import annotations

from simulator.costs.matmul.grouped import grouped_by_host
from simulator.hardware.host import SYNCING
from simulator.records import Signature

_CHECKED = {
    "aten._linalg_check_errors.default", "aten._linalg_eigh.default", "aten._linalg_svd.default",
    "aten.linalg_matrix_exp.default", "aten.normal.Tensor_Tensor", "aten.normal.float_Tensor",
}  # fmt: skip
"""Ops whose result or arguments the host reads without returning a value to Python."""
_MASKS = ("bool", "uint8")


_COPIES = ("aten._to_copy.default", "aten.copy_.default")
_SOMETIMES = (
    "aten.index.",
    "aten.index_put",
    "aten.masked_fill",
    "aten.histc.default",
    *_COPIES,
)


def may_wait(name: str) -> bool:
    """Whether the host waits for some calls of this op."""
    return name in SYNCING or name in _CHECKED or name.startswith(_SOMETIMES)


def syncs(signature: Signature) -> bool:
    """Whether the host waits for the GPU after an op."""
    name = signature.name
    if not any(t.device == "cuda" for t in (*signature.inputs, *signature.outputs)):
        return False
    if name == "aten._grouped_mm.default":
        return grouped_by_host(signature)
    if name == "aten.repeat_interleave.Tensor":
        return signature.arg("output_size") is None
    if name == "aten.histc.default":  # without a range, the host reads the extremes
        return signature.arg("min", 0) == signature.arg("max", 0)
    if name.startswith("aten.masked_fill") and "value" in signature.names:
        # the host reads the value, to fill with a number
        return signature["value"].device == "cuda"
    if name.startswith(("aten.index.", "aten.index_put")):
        return _indexes_by_data(signature)
    if name in _COPIES:
        if not _crosses(signature):
            return False
        # a new tensor on the host is pinned if the copy does not block (`_to_copy`,
        # ATen/native/TensorConversions.cpp); a copy to memory that is not pinned waits nevertheless
        is_pageable = signature.out.device == "cpu" and name == "aten.copy_.default"
        return is_pageable or not signature.arg("non_blocking", False)
    return (name in SYNCING or name in _CHECKED) and any(
        t.device == "cuda" for t in signature.inputs
    )


def uncapturable(signature: Signature) -> bool:
    """Whether a CUDA graph cannot capture an op: the host waits for it, or it copies between
    the GPU and unpinned memory."""
    return syncs(signature) or (signature.name in _COPIES and _crosses(signature))


def _crosses(signature: Signature) -> bool:
    """Whether an op moves data between host and GPU. An empty tensor has no data: CUDA graphs of
    steps that copy one were captured on an H200."""
    tensors = (*signature.inputs, *signature.outputs)
    return len({t.device for t in tensors}) > 1 and any(t.numel for t in signature.outputs)


def _indexes_by_data(signature: Signature) -> bool:
    """Whether the host waits in an indexing op: to count the true elements of a mask, or to copy
    indices to the GPU. Assigning one number under a mask is a fill without a wait
    (`canDispatchToMaskedFill` of ATen/native/TensorAdvancedIndexingUtils.h)."""
    indices = signature.tensors("indices")
    masked = any(t.dtype in _MASKS for t in indices)
    if masked and len(indices) == 1 and "values" in signature.names:
        values = signature["values"]
        if values.numel == 1 and values.device == "cpu":
            return False
    return masked or any(t.device == "cpu" for t in indices)
