"""TensorIterator kernels that compute each element of the result independently."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.curves import curve_rule
from simulator.costs.kernels.iterator import (
    VECTOR_ELEMENTS,
    aligned,
    converting_slots,
    lane_dtype,
    offset_slots,
    unrolled_elements,
    walk,
)
from simulator.costs.registry import Work
from simulator.records import Signature

Steps = tuple[int, int]

_BYTE = 3
"""Further instructions of an operand if all operands are bytes, which are extracted from words of
four one by one; fitted to times on an H200."""

_UNREAD = ("out", "grad_input", "output", "buffer")
"""Arguments that receive the result and are not read."""
_IN_OWN_DTYPE = ("condition", "mask", "abs", "angle", "real", "imag")
"""Arguments that kernels read in their own dtype: masks, and the parts of a complex result."""


def read_of(op: Signature, *names: str) -> int:
    """Bytes of the distinct GPU regions among the inputs with these argument names."""
    keep = [i for i, name in enumerate(op.names) if name in names]
    regions = op.aliases or tuple(range(len(op.inputs)))
    inputs = tuple(op.inputs[i] for i in keep)
    return replace(
        op, inputs=inputs, outputs=(), names=(), aliases=tuple(regions[i] for i in keep)
    ).read_bytes


def read_but(op: Signature, *names: str) -> int:
    """Bytes of all inputs except these arguments, which are only written."""
    return read_of(op, *(name for name in op.names if name not in names))


def elementwise(op: Signature, steps: Steps, family: str = "pointwise") -> tuple[Work, ...]:
    """One TensorIterator kernel over the elements of the first output; () if this output is
    empty."""
    elements = op.out.numel
    if elements == 0:
        return ()
    read = [
        t
        for t, name in zip(op.inputs, op.names, strict=True)
        if name not in _UNREAD and t.device != "cpu"
    ]
    operands = [*read, *op.outputs]
    flops, instructions = steps
    contiguous, widens = aligned(operands), converts(op)
    dims: dict[str, int | bool] = {
        "elements": elements,
        "inputs": len(read),
        "contiguous": contiguous,
        "widens": widens,
    }
    slots = converting_slots(len(operands)) if widens else 0
    if not contiguous:
        iteration = walk(operands)
        dims |= {"axes": len(iteration.axes), **iteration.touched}
        slots = max(slots, offset_slots(len(iteration.axes), len(operands)))
    slots += instructions + len(operands)
    if all(t.itemsize == 1 for t in operands):
        slots += _BYTE * len(operands)
    offsets = widens or not contiguous
    dims["steps"] = slots * (unrolled_elements(op.out) if offsets else VECTOR_ELEMENTS)
    return (
        Work(
            family,
            flops=flops * elements,
            read_bytes=read_but(op, *_UNREAD),
            write_bytes=op.write_bytes,
            dtype=lane_dtype(operands),
            instructions=slots * elements,
            dims=dims,
        ),
    )


def converts(op: Signature) -> bool:
    """Whether an operand is converted as it is read, so that ATen cannot load vectors
    (ATen/native/cuda/CUDALoops.cuh, `needs_dynamic_casting`). The result of a comparison is not
    converted."""
    read = {
        t.dtype
        for t, name in zip(op.inputs, op.names, strict=True)
        if t.shape and t.device != "cpu" and name not in (*_UNREAD, *_IN_OWN_DTYPE)
    }
    return len(read) > 1 or bool(read - {op.out.dtype} and op.out.dtype != "bool")


@curve_rule("pointwise")
def pointwise_curve(work: Work) -> str:
    """Name of the curve: kernels that compute offsets, convert operands or load vectors have
    separate ones."""
    if not work.dims.get("contiguous", True):
        return "pointwise_strided"
    return "pointwise_widening" if work.dims.get("widens", False) else "pointwise"
