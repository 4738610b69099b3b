"""How TensorIterator walks through its operands: in one line, or with an offset for each element.

Where one linear index serves all operands, the kernel loads vectors; where an operand is converted
as it is read, it loads one element at a time; and else it computes an offset for each operand of
each element (ATen/native/cuda/CUDALoops.cuh, `gpu_kernel_impl`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from simulator.records import Tensor

THREADS = 128
"""Of a block (ATen/native/cuda/thread_constants.h)."""
SECTOR, LINE = 32, 128
"""Bytes that a GPU moves at least between L2 and a streaming multiprocessor, and those that one
look-up in its L1 finds together."""


def lane_dtype(tensors: Iterable[Tensor]) -> str:
    """The dtype of the vector lanes that compute on these tensors: fp64 or else fp32."""
    wide = any(t.dtype in ("float64", "complex128") for t in tensors if t.device != "cpu")
    return "float64" if wide else "float32"


def aligned(tensors: Iterable[Tensor]) -> bool:
    """True where one linear index serves all: same shape, same strides, no gaps."""
    held = [t for t in tensors if t.device != "cpu"]
    return all(t.dense for t in held) and all(_alike(held[0], t) for t in held[1:])


def _alike(one: Tensor, other: Tensor) -> bool:
    """Of one shape and, where there are neighbours, one stride."""
    return one.shape == other.shape and all(
        n == 1 or s == t for n, s, t in zip(one.shape, one.stride, other.stride, strict=True)
    )


def per_thread(out: Tensor) -> int:
    """Elements of a thread that computes offsets (`gpu_kernel_impl_nocast`, unroll_factor)."""
    return 2 if out.itemsize >= 4 else 4


def of_vectors(operands: Iterable[Tensor]) -> int:
    """Elements of a thread that loads vectors (`elems_per_thread`)."""
    size = max(t.itemsize for t in operands if t.device != "cpu")
    return {1: 16, 2: 8}.get(size, 4)


@dataclass(frozen=True)
class Walk:
    """An iteration over operands of any strides.

    axes  (size, bytes from neighbour to neighbour by operand), the innermost first, after those
          that lie end to end in all operands are joined
    runs  of neighbours within 32 bytes that all blocks touch, summed over the operands; four that
          share a line count as 1¾, since a line is looked up once
    """

    axes: tuple[tuple[int, tuple[int, ...]], ...]
    runs: int


def walk(operands: Sequence[Tensor]) -> Walk:
    """The iteration over operands, the last of which is the result; those on the host count not.

    The axes are ordered by the strides of the result. What a block touches twice its L1 holds.
    """
    held = [t for t in operands if t.device != "cpu"]
    axes = _joined(held)
    tile = THREADS * per_thread(held[-1])
    reach, left = list[float](), float(tile)
    for size, _ in axes:
        reach.append(min(size, left))
        left = max(1.0, left / size)
    blocks = held[-1].numel / prod(reach)
    touched = 0.0
    for place, tensor in enumerate(held):
        steps = [steps[place] for _, steps in axes]
        sectors, lines = (_touched(tensor.itemsize, steps, reach, unit) for unit in (SECTOR, LINE))
        touched += blocks * (sectors + 3 * lines) / 4
    return Walk(axes, max(1, round(touched)))


def _joined(operands: Sequence[Tensor]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    shape = operands[-1].shape
    strides = [_bytes_along(t, shape) for t in operands]
    places = [d for d, size in enumerate(shape) if size != 1]
    places.sort(key=lambda d: (strides[-1][d], -d))
    found: list[tuple[int, tuple[int, ...]]] = []
    for d in places:
        steps = tuple(stride[d] for stride in strides)
        if found:
            size, inner = found[-1]
            if all(step == size * within for step, within in zip(steps, inner, strict=True)):
                found[-1] = (size * shape[d], inner)
                continue
        found.append((shape[d], steps))
    return tuple(found)


def _bytes_along(tensor: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A tensor's steps in bytes when it is broadcast to a shape: 0 where it repeats itself."""
    lead = len(shape) - len(tensor.shape)
    pairs = zip(tensor.shape, tensor.stride, strict=True)
    own = [0 if size == 1 else step * tensor.itemsize for size, step in pairs]
    return (*[0] * lead, *own)


def _touched(itemsize: int, steps: Sequence[int], reach: Sequence[float], unit: int) -> float:
    """Distinct words of `unit` bytes of one operand in a box of elements."""
    apart, span = 1.0, float(itemsize)
    for step, count in sorted(zip(steps, reach, strict=True)):
        if step == 0:
            continue
        if step <= max(span, unit):  # neighbours share a word, or follow one another
            span += step * (count - 1)
        else:
            apart *= count
    return apart * max(1.0, span / unit)


def offset_slots(axes: int, operands: int) -> int:
    """Instructions of an element whose offsets are computed: 20 for its index and bounds, and
    along each axis a division by multiplication (4) and a multiply-add for each operand."""
    return 20 + axes * (4 + operands)


def converting_slots(operands: int) -> int:
    """Instructions of an element whose operands are converted as they are loaded or stored: each
    by a switch over dtypes (`fetch_and_cast`)."""
    return 20 + 20 * operands
