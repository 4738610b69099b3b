"""Ops that copy elements: copies, rearrangements and concatenation.

A copy within the GPU is a memcpy if both sides are dense in the same order and of one dtype, a
"pointwise" cast if only the dtype differs, and otherwise a "copy" whose dims say whether the
fastest dimension changes ("transposed"), the number of axes it iterates over, and its runs. A
"memcpy" has a "direction" and "bytes"; a transfer over the bus is DRAM traffic on the side of the
GPU only.
"""

from __future__ import annotations

from math import gcd, prod

from msgspec.structs import replace

from simulator.costs.curves import curve_rule
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
"""Casts from float32 to these have a kernel that loads vectors (Copy.cu,
`bfloat16_copy_kernel_cuda`); other casts convert element by element."""


def _expanded(source: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`source` broadcast to a shape, with dimensions of stride 0."""
    lead = len(shape) - len(source.shape)
    sizes = [*([1] * lead), *source.shape]
    strides = [*([0] * lead), *source.stride]
    pairs = zip(sizes, shape, strides, strict=True)
    stride = tuple(0 if size == 1 != target else step for size, target, step in pairs)
    return replace(source, shape=shape, stride=stride)


@cost("aten.copy_.default", "aten.copy.default", "aten._copy_from.default")
def copy(op: Signature) -> tuple[Work, ...]:
    """`src` broadcast into `self`, which is only written."""
    return move(_expanded(op["src"], op.out.shape), op.out)


@cost(
    "aten.clone.default",
    "aten._to_copy.default",
    "aten.contiguous.default",
    "aten.clone.out",
    "aten._to_copy.out",
    "aten.lift_fresh_copy.default",
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
    if op.inputs[0].numel != op.out.numel:  # some elements only
        return permuted_copy(op, op.out.numel * op.inputs[0].itemsize)
    if op.inputs[0].shape != op.out.shape:
        return permuted_copy(op, op.read_bytes)
    return move(op.inputs[0], op.out)


def permuted_copy(op: Signature, read: int, variant: str | None = None) -> tuple[Work, ...]:
    """One kernel that writes elements in another order; `read` in bytes."""
    elements = op.out.numel
    dims = {"elements": elements, "transposed": False}
    dims |= {"variant": variant} if variant else {}
    work = Work(
        "copy", 0, read, op.write_bytes, "vector", lane_dtype(op.outputs), 30 * elements, dims
    )
    return (work,) if elements else ()


@cost(
    "aten.repeat.default",
    "aten.flip.default",
    "aten.native_channel_shuffle.default",
    "aten.channel_shuffle.default",
    "aten.rot90.default",
    "aten.pixel_shuffle.default",
    "aten.pixel_unshuffle.default",
)
def rearrange(op: Signature) -> tuple[Work, ...]:
    """One kernel; the input is read once, however often it is written."""
    return permuted_copy(op, read_of(op, "self"))


@cost(
    "aten.tril.default",
    "aten.triu.default",
    "aten.tril_.default",
    "aten.triu_.default",
    "aten.tril.out",
    "aten.triu.out",
)
def triangle(op: Signature) -> tuple[Work, ...]:
    """One kernel; elements beyond the diagonal are not read, but count here
    (ATen/native/cuda/TriangularOps.cu)."""
    return permuted_copy(op, read_of(op, "self"), "triangle")


@cost("aten.roll.default")
def roll(op: Signature) -> tuple[Work, ...]:
    """One kernel per rolled dimension (ATen/native/TensorTransformations.cpp)."""
    return permuted_copy(op, op.read_bytes, "roll") * max(1, len(op.arg("dims") or [0]))


_BATCH = 128
"""Tensors per concatenating launch (ATen/native/cuda/Shape.cu); half as many if not contiguous."""


@cost(
    "aten.cat.default",
    "aten.stack.default",
    "aten._chunk_cat.default",
    "aten._stack.default",
    "aten.cat.out",
    "aten.stack.out",
)
def cat(op: Signature) -> tuple[Work, ...]:
    """One launch per 128 tensors; one copy per tensor for more than 4 dimensions or mixed
    dtypes."""
    parts = [t for t in op.tensors("tensors") if t.numel]
    batched = (
        len(parts) > 1
        and (len(op.out.shape) <= 4 or "stack" in op.name)  # a stack joins its parts' dimensions
        and len({t.dtype for t in (*parts, op.out)}) == 1
    )
    step = (_BATCH if all(t.contiguous for t in parts) else _BATCH // 2) if batched else 1
    groups = [parts[i : i + step] for i in range(0, len(parts), step)]
    written = [sum(t.numel for t in group) for group in groups]
    read_bytes = read_of(op, "tensors")  # the same tensor twice is read once
    single_launch = len(groups) == 1
    return tuple(
        Work(
            "concat",
            read_bytes=read_bytes if single_launch else sum(t.nbytes for t in group),
            write_bytes=count * op.out.itemsize,
            dtype=lane_dtype(op.outputs),
            instructions=4 * count,
            dims={
                "elements": count,
                "vectorized": _vectorized(op, group),
                "contiguous": all(t.contiguous for t in group),
                "parts": len(group),
                "run_bytes": sum(_runs(op, group)) // len(group),
                "align_bytes": gcd(16, *_runs(op, group)),
            },
        )
        for group, count in zip(groups, written, strict=True)
    )


def _runs(op: Signature, parts: list[Tensor]) -> list[int]:
    """Contiguous bytes of each part in the result; for a stack possibly the whole part."""
    dim = op.arg("dim", 0)
    return [prod(t.shape[dim % max(len(t.shape), 1) :]) * t.itemsize for t in parts]


def _vectorized(op: Signature, parts: list[Tensor]) -> bool:
    """Whether the run of each part in the output is a whole number of 16-byte words
    (ATen/native/cuda/Shape.cu, `CatArrayBatchedCopy_vectorized`)."""
    return all(t.contiguous for t in parts) and all(run % 16 == 0 for run in _runs(op, parts))


@curve_rule("concat")
def concat_curve(work: Work) -> str:
    """The vectorized kernel has its own curve."""
    return "concat_vectorized" if work.dims["vectorized"] else "concat"
