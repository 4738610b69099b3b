"""Ops that copy or rearrange elements.

A copy within the GPU is a memcpy if both sides are dense in the same order and of one dtype, and a
"pointwise" cast if only the dtype differs. Otherwise it is a "copy", whose dims give whether the
fastest dimension changes ("transposed"), the number of axes it iterates over, and its runs. A
"memcpy" has a "direction" and "bytes"; a transfer over the bus is DRAM traffic on the GPU's side
only.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.compiled_traits import LISTED, Traits, listed
from simulator.costs.kernels.elementwise import read_of
from simulator.costs.kernels.iterator import aligned, converting_slots, lane_dtype
from simulator.costs.kernels.launches import from_host, memcpy, strided_copy, to_host
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor


def move(source: Tensor, target: Tensor) -> tuple[Work, ...]:
    """The launches of `target.copy_(source)` (ATen/native/cuda/Copy.cu, `copy_kernel_cuda`)."""
    elements = target.numel
    if elements == 0 or (source.device == "cpu" and target.device == "cpu"):
        return ()
    if source.device == "cpu":  # the host casts and changes the layout
        return (from_host(elements * target.itemsize),)
    if target.device == "cpu":  # packed by the GPU, cast by the host
        fetch = to_host(source.numel * source.itemsize)
        packed = Tensor(source.shape, source.dtype, target.stride)
        return (fetch,) if aligned((source, packed)) else (*move(source, packed), fetch)
    if not aligned((source, target)):
        return (strided_copy(source, target, target.nbytes),)
    if source.dtype == target.dtype:
        return (memcpy(source.nbytes, target.nbytes),)
    widens = not (source.dtype == "float32" and target.dtype in _NARROWED)
    slots = converting_slots(2) if widens else 0
    dims = {"elements": elements, "inputs": 1, "contiguous": True, "widens": widens}
    return (
        Work(
            "pointwise",
            0,
            source.nbytes,
            target.nbytes,
            dtype=lane_dtype((source, target)),
            instructions=(2 + slots) * elements,
            dims=dims,
        ),
    )


_NARROWED = ("bfloat16", "float16")
"""Casts from float32 to these dtypes have a kernel that loads vectors (Copy.cu,
`bfloat16_copy_kernel_cuda`); other casts convert element by element."""


def _expanded(source: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`source` broadcast to a shape, with dimensions of stride 0; as it is if it has more
    dimensions, as a part of a flat tensor that a compiler writes may have."""
    lead = len(shape) - len(source.shape)
    if lead < 0:
        return source
    sizes = [*([1] * lead), *source.shape]
    strides = [*([0] * lead), *source.stride]
    pairs = zip(sizes, shape, strides, strict=True)
    stride = tuple(0 if size == 1 != target else step for size, target, step in pairs)
    return replace(source, shape=shape, stride=stride)


COPIES = ("aten._to_copy.default", "aten.copy_.default")
"""The copies that can move data between host and GPU."""


def crosses(op: Signature) -> bool:
    """Whether a copy moves data between host and GPU. An empty tensor has no data: CUDA graphs of
    steps that copy one were captured on an H200."""
    tensors = (*op.inputs, *op.outputs)
    return len({t.device for t in tensors}) > 1 and op.out.numel > 0


def _blocks(op: Signature) -> bool:
    """Whether the host waits for a copy. A new tensor on the host is pinned if the copy does not
    block (`_to_copy`, ATen/native/TensorConversions.cpp); a copy to memory that is not pinned waits
    nevertheless."""
    is_pageable = op.out.device == "cpu" and op.name == "aten.copy_.default"
    return crosses(op) and (is_pageable or not op.arg("non_blocking", False))


@cost("aten.copy_.default", waits=_blocks)
@cost("aten.copy.default", "aten._copy_from.default")
def copy(op: Signature) -> tuple[Work, ...]:
    """`src` broadcast into `self`, which is only written."""
    return move(_expanded(op["src"], op.out.shape), op.out)


@cost("aten._to_copy.default", waits=_blocks, traits=LISTED)
@cost("aten.clone.default", "aten.clone.out", traits=listed(triton="{self}"))
@cost("aten.contiguous.default", traits=Traits(triton="{self}"))
@cost("aten.lift_fresh_copy.default", traits=LISTED)
@cost(
    "aten._to_copy.out",
    "aten._pin_memory.default",
    "aten.view_copy.default",
    "aten.permute_copy.default",
    "aten.expand_copy.default",
    "aten.transpose_copy.int",
    "aten.slice_copy.Tensor",
    "aten.select_copy.int",
    "aten.as_strided_copy.default",
    "aten.unsqueeze_copy.default",
    "aten.squeeze_copy.default",
    "aten.t_copy.default",
    "aten.detach_copy.default",
    "aten.alias_copy.default",
    "aten.diagonal_copy.default",
    "aten.unfold_copy.default",
    "aten._reshape_copy.default",
    "aten.narrow_copy.default",
)
def clone(op: Signature) -> tuple[Work, ...]:
    """One copy of the input, to another dtype, device or layout."""
    if op.inputs[0].numel != op.out.numel:  # not all elements are copied
        return permuted_copy(op, op.out.numel * op.inputs[0].itemsize)
    if op.inputs[0].shape != op.out.shape:
        return permuted_copy(op, op.read_bytes)
    return move(op.inputs[0], op.out)


@cost("aten.to.dtype_layout", "aten.to.dtype")
def to(op: Signature) -> Work | tuple[Work, ...]:
    """No launch if the tensor already has the dtype and device, else a copy."""
    return () if op.aliases == (0, 0) else clone(op)


def permuted_copy(op: Signature, read: int, variant: str | None = None) -> tuple[Work, ...]:
    """One kernel that writes elements in another order; `read` in bytes."""
    elements = op.out.numel
    dims = {"elements": elements, "transposed": False}
    dims |= {"variant": variant} if variant else {}
    work = Work(
        "copy", 0, read, op.write_bytes, "vector", lane_dtype(op.outputs), 30 * elements, dims
    )
    return (work,) if elements else ()


@cost("aten.flip.default", "aten.rot90.default")
def rearrange(op: Signature) -> tuple[Work, ...]:
    """One kernel; the input is read once, however often its elements are written."""
    return permuted_copy(op, read_of(op, "self"))


@cost("aten.triu.default", "aten.triu_.default", "aten.triu.out", traits=LISTED)
@cost("aten.tril.default", "aten.tril_.default", "aten.tril.out")
def triangle(op: Signature) -> tuple[Work, ...]:
    """One kernel; elements beyond the diagonal are not read, but they are counted here
    (ATen/native/cuda/TriangularOps.cu)."""
    return permuted_copy(op, read_of(op, "self"), "triangle")


@cost("aten.roll.default")
def roll(op: Signature) -> tuple[Work, ...]:
    """One kernel per rolled dimension (ATen/native/TensorTransformations.cpp)."""
    return permuted_copy(op, op.read_bytes, "roll") * max(1, len(op.arg("dims") or [0]))
