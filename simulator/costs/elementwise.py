"""TensorIterator kernels that compute each element of the result on its own."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.iterator import (
    aligned,
    converting_slots,
    lane_dtype,
    of_vectors,
    offset_slots,
    per_thread,
    walk,
)
from simulator.costs.registry import Work
from simulator.records import Signature

Steps = tuple[int, int]

_UNREAD = ("out", "grad_input", "output", "buffer")
"""Arguments that receive the result, so that the kernel does not read them."""
_FLAGS = ("condition", "mask")


def read_of(op: Signature, *names: str) -> int:
    """Bytes of the distinct regions on the GPU among the inputs of these argument names."""
    keep = [i for i, name in enumerate(op.names) if name in names]
    regions = op.aliases or tuple(range(len(op.inputs)))
    inputs = tuple(op.inputs[i] for i in keep)
    return replace(
        op, inputs=inputs, outputs=(), names=(), aliases=tuple(regions[i] for i in keep)
    ).read_bytes


def read_but(op: Signature, *names: str) -> int:
    """Bytes read when these arguments are only written."""
    return read_of(op, *(name for name in op.names if name not in names))


def elementwise(op: Signature, steps: Steps, family: str = "pointwise") -> tuple[Work, ...]:
    """One TensorIterator kernel over the elements of the first output; none where it is empty."""
    elements = op.out.numel
    if elements == 0:
        return ()
    taken = [
        t
        for t, name in zip(op.inputs, op.names, strict=True)
        if name not in _UNREAD and t.device != "cpu"
    ]
    operands = [*taken, *op.outputs]
    flops, instructions = steps
    straight, turns = aligned(operands), converts(op)
    dims: dict[str, int | bool] = {
        "elements": elements,
        "inputs": len(taken),
        "contiguous": straight,
        "widens": turns,
    }
    slots = converting_slots(len(operands)) if turns else 0
    if not straight:
        walked = walk(operands)
        dims |= {"axes": len(walked.axes), "runs": walked.runs}
        slots = max(slots, offset_slots(len(walked.axes), len(operands)))
    slots += instructions + len(operands)
    dims["steps"] = slots * (per_thread(op.out) if turns or not straight else of_vectors(operands))
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
    """True where an operand is converted as it is read, which costs ATen its vector loads
    (ATen/native/cuda/CUDALoops.cuh, `needs_dynamic_casting`). A mask and the result of a comparison
    are of a kernel's own type."""
    taken = {
        t.dtype
        for t, name in zip(op.inputs, op.names, strict=True)
        if t.shape and t.device != "cpu" and name not in (*_UNREAD, *_FLAGS)
    }
    return len(taken) > 1 or bool(taken - {op.out.dtype} and op.out.dtype != "bool")
