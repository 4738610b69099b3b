"""Concatenation: one kernel for many tensors, or a copy for each.

The rules were observed in the kernels of recorded concatenations and stacks on an H200 and an H100
(torch 2.11).
"""

from __future__ import annotations

from math import gcd, prod

from msgspec.structs import replace

from simulator.costs.curves import curve_rule
from simulator.costs.kernels.elementwise import read_of
from simulator.costs.kernels.iterator import lane_dtype
from simulator.costs.movement.copies import move
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

_BATCH = 128
"""Tensors per launch; half as many if not contiguous."""
_BATCHED_DIMS = 4
_BLOCK_BYTES = 128 * 16
"""Bytes that one block of `CatArrayBatchedCopy_vectorized` copies at a time: 16 per thread."""
_SECTOR_BYTES, _LINE_BYTES = 32, 128
"""Bytes of the smallest part of a line that L2 delivers, and of the line."""
_WARP = 32
_SECTOR = 250
"""Instructions that issue while a multiprocessor loads a sector. On an H200, the columns of
transposed matrices, read as rows, take 2.4 clocks per element and multiprocessor."""
_FRAME, _DIVISION = 17, 18
"""Instructions per element without divisions, and per division by a variable. Four-dimensional
images take 71 slots per element on an H200."""


@cost(
    "aten.cat.default",
    "aten.stack.default",
    "aten._chunk_cat.default",
    "aten._stack.default",
    "aten.cat.out",
    "aten.stack.out",
)
def cat(op: Signature) -> tuple[Work, ...]:
    """One launch per 128 tensors that are contiguous in one memory format, or per 64 if not.

    An empty tensor of one dimension, with which a cache begins, counts as one of the tensors and is
    not contiguous. A single tensor, more than 4 dimensions, mixed dtypes and channels-last images
    with gaps take one copy per tensor.
    """
    tensors = op.tensors("tensors")
    parts = [t for t in tensors if t.numel]
    last = bool(tensors) and all(_is_channels_last(t) for t in tensors)
    dense = all(t.dense if last else t.contiguous for t in parts)
    contiguous = dense and not any(t.numel == 0 and len(t.shape) == 1 for t in tensors)
    batched = (
        len(tensors) > 1
        and all(len(t.shape) + _is_new_last(op, t) <= _BATCHED_DIMS for t in parts)
        and len({t.dtype for t in (*parts, op.out)}) == 1
        and (contiguous or not last)
    )
    if not batched:
        return tuple(work for t in parts for work in move(t, _place(op, t)))
    step = _BATCH if contiguous else _BATCH // 2
    groups = [parts[i : i + step] for i in range(0, len(parts), step)]
    whole = read_of(op, "tensors") if len(groups) == 1 else None  # a repeated tensor counts once
    return tuple(_batch(op, group, contiguous, last, whole) for group in groups)


def _batch(
    op: Signature, parts: list[Tensor], contiguous: bool, last: bool, read_bytes: int | None
) -> Work:
    """One launch. Each tensor has as many blocks as the largest one needs, so some blocks of
    smaller ones idle. The vectorized kernel requires whole 16-byte words in row-major tensors."""
    elements, runs = sum(t.numel for t in parts), _runs(op, parts, last)
    splits = max(len(t.shape) + _is_new_last(op, t) for t in parts) - 1  # divisions of an index
    vectorized = contiguous and not last and all(run % 16 == 0 for run in runs)
    blocks = [-(-t.nbytes // _BLOCK_BYTES) for t in parts] if vectorized else [0]
    turned = 0 if contiguous else sum(_turned(t) for t in parts)
    slots = elements * _slots(splits, contiguous)
    return Work(
        "concat",
        read_bytes=sum(t.nbytes for t in parts) if read_bytes is None else read_bytes,
        write_bytes=elements * op.out.itemsize,
        dtype=lane_dtype(op.outputs),
        instructions=4 * elements if vectorized else slots,
        dims={
            "elements": elements,
            "vectorized": vectorized,
            "contiguous": contiguous,
            "parts": len(parts),
            "run_bytes": sum(runs) // len(parts),
            "align_bytes": gcd(16, *runs),
            "widest_blocks": max(blocks),
            "others": len(blocks) - 1,
            "other_blocks": sum(blocks) - max(blocks),
            **({} if vectorized else {"offset_slots": slots + _SECTOR * turned}),
            **({"turned": turned, "row_lines_bytes": _row_lines(parts)} if turned else {}),
        },
    )


def _turned(part: Tensor) -> int:
    """Sectors that warps load if neighbouring elements of the result lie in different sectors of a
    part, as in a transposed matrix: one per element, or one per row and column if a row has fewer
    elements than a warp has threads."""
    if len(part.shape) < 2 or part.stride[-1] * part.itemsize < _SECTOR_BYTES:
        return 0
    return part.numel * min(part.shape[-1], _WARP) // _WARP


def _row_lines(parts: list[Tensor]) -> int:
    """Bytes of the lines that one row of transposed parts touches. The next rows read the other
    elements of these lines if L2 still holds them (`simulator.timing.l2_eviction`)."""
    return max(t.shape[-1] for t in parts if _turned(t)) * _LINE_BYTES


def _slots(splits: int, contiguous: bool) -> int:
    """Instructions of one element. Its position takes `splits` divisions of its index; if tensors
    are not contiguous, the positions in source and result are computed separately."""
    return _FRAME + _DIVISION * splits * (1 if contiguous else 2)


def _is_new_last(op: Signature, part: Tensor) -> bool:
    """Whether a stack adds its dimension after all others. If so, each part gets the dimension
    before the parts are copied: recorded stacks of four-dimensional tensors along the last
    dimension ran as one copy per tensor. Any other stack runs as a concatenation of its parts: the
    same tensors stacked along the first dimension ran as one `CatArrayBatchedCopy`, and tensors of
    five dimensions as one copy each."""
    rank = len(part.shape)
    return "stack" in op.name and op.arg("dim", 0) % (rank + 1) == rank


def _dim(op: Signature, part: Tensor) -> int:
    rank = len(part.shape) + ("stack" in op.name)
    return op.arg("dim", 0) % max(rank, 1)


def _place(op: Signature, part: Tensor) -> Tensor:
    """The slice of the result that holds a part."""
    strides = list(op.out.stride)
    if "stack" in op.name:
        del strides[_dim(op, part)]
    return replace(op.out, shape=part.shape, stride=tuple(strides))


def _runs(op: Signature, parts: list[Tensor], last: bool) -> list[int]:
    """Contiguous bytes of each part in the result; for a stack possibly the whole part."""
    runs: list[int] = []
    for part in parts:
        inside = range(_dim(op, part), len(part.shape))
        if last:
            order = _channels_inside(part)
            inside = order[: order.index(_dim(op, part)) + 1]
        runs.append(prod(part.shape[d] for d in inside) * part.itemsize)
    return runs


def _channels_inside(picture: Tensor) -> tuple[int, ...]:
    """The dimensions of a channels-last image, innermost first."""
    return (1, *range(len(picture.shape) - 1, 1, -1), 0)


def _is_channels_last(t: Tensor) -> bool:
    """Whether the strides suggest channels last (c10/core/MemoryFormat.h,
    `is_channels_last_strides_2d`), with gaps or without."""
    if len(t.shape) not in (4, 5) or t.stride[1] == 0 or t.contiguous:
        return False
    least = 0
    for d in _channels_inside(t):
        if not t.shape[d] or t.stride[d] < least or (d == 0 and least == t.stride[1]):
            return False
        least = t.stride[d] * t.shape[d]
    return True


@curve_rule("concat")
def concat_curve(work: Work) -> str:
    """Name of the curve: the vectorized kernel has its own."""
    return "concat_vectorized" if work.dims["vectorized"] else "concat"
